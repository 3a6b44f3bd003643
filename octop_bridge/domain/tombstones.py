"""The keys of a rejected value. Any hit refuses a claim, before it is stored.

k1 is the signature of the assertion, the speaker folded; k2 is subject, slot, value and polarity, so that other words for
the same value hit; k3 is the signature of the quote, so that the same sentence never yields the same claim again.
"""

import hashlib

from octop_bridge.domain.records import SPEAKER, Claim
from octop_bridge.domain.text import is_negated, signature, skeleton


def keys_of(claim: Claim, *, with_quote: bool = True) -> tuple[str, ...]:
    """Every key under which the claim's value is, or would be, rejected. Hex, 32 characters each."""
    keys = [_key("k1", signature(claim.assertion, SPEAKER))]
    if claim.slot and claim.value:
        polarity = "-" if is_negated(claim.assertion) else "+"
        subject = signature(claim.subject.name, SPEAKER)
        keys.append(_key("k2", subject, skeleton(claim.slot), signature(claim.value, SPEAKER), polarity))
    if with_quote and claim.quote:
        keys.append(quote_key(claim.quote))
    return tuple(keys)


def quote_key(quote: str) -> str:
    """k3: the key of a sentence as it was said."""
    return _key("k3", signature(quote, SPEAKER))


def text_keys(text: str) -> tuple[str, ...]:
    """Keys of a bare text (a statement without a claim around it): as an assertion and as a quote."""
    return _key("k1", signature(text, SPEAKER)), quote_key(text)


def quote_stands_alone(claim: Claim, others: tuple[Claim, ...]) -> bool:
    """Whether the quote carries no other claim, so that refusing the sentence refuses nothing else."""
    mine, sentence = signature(claim.assertion, SPEAKER), signature(claim.quote, SPEAKER)
    return all(
        signature(other.assertion, SPEAKER) == mine or signature(other.quote, SPEAKER) != sentence for other in others
    )


def _key(*parts: str) -> str:
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()
