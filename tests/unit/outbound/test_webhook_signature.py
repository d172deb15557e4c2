"""The signature scheme, compared with the example of its specification and verified by itself."""

from __future__ import annotations

import base64
import hmac
from hashlib import sha256

import pytest

from tompion.errors import InvalidField
from tompion.outbound.webhook_signature import parse_secret, signature_headers

# Numbers of the scheme's own example: id, timestamp, body, secret and the signature that they give.
EXAMPLE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - it is published
EXAMPLE = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
EXAMPLE_SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_signature_matches_the_published_example() -> None:
    headers = signature_headers(*EXAMPLE, [parse_secret(EXAMPLE_SECRET)])
    assert headers == {
        "webhook-id": EXAMPLE[0],
        "webhook-timestamp": "1614265330",
        "webhook-signature": EXAMPLE_SIGNATURE,
    }


def test_two_secrets_give_two_signatures() -> None:
    keys = [bytes(range(24)), bytes(range(32))]
    first, second = signature_headers("id", 5, b"body", keys)["webhook-signature"].split()
    for key, signature in zip(keys, (first, second), strict=True):
        expected = base64.b64encode(hmac.new(key, b"id.5.body", sha256).digest()).decode()
        assert signature == f"v1,{expected}"


@pytest.mark.parametrize(
    "text", ["whsec_???", "whsec_" + base64.b64encode(b"short").decode(), "", "whsec_" + "A" * 400]
)
def test_invalid_secret_is_rejected_without_being_shown(text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        parse_secret(text)
    assert not text or text not in str(caught.value)
