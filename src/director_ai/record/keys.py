"""The key of a trail: it seals every row and signs the checkpoints; it lives outside the database."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import tempfile
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from director_ai.errors import ConfigError

__all__ = ["SigningKey", "VerifyKey", "read_key"]

_SEAL_PURPOSE: Final = b"director-ai: seal of an audit row"
_TEXT_PURPOSE: Final = b"director-ai: digest of a text"


class VerifyKey:
    """The public half: enough to check what was signed."""

    def __init__(self, public: Ed25519PublicKey) -> None:
        self._public = public
        self.key_id = hashlib.sha256(public.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]

    def has_signed(self, message: str, signature: str) -> bool:
        """Whether the signature of a message is this key's."""
        try:
            self._public.verify(bytes.fromhex(signature), message.encode())
        except (InvalidSignature, ValueError):
            return False
        return signature == signature.lower()  # one way to write it, so that an edit is an edit

    def pem(self) -> str:
        """Return it as text, to hand to an auditor."""
        return self._public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


class SigningKey(VerifyKey):
    """The whole key: whoever has it can add to the trail, and nobody else can."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        super().__init__(private.public_key())
        self._private = private
        raw = private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        self._seal = hmac.new(hmac.digest(raw, _SEAL_PURPOSE, "sha256"), digestmod="sha256")
        self._text_key = hmac.digest(raw, _TEXT_PURPOSE, "sha256")

    @classmethod
    def fresh(cls) -> Self:
        """Return a new key that is kept nowhere."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def kept_at(cls, path: Path) -> Self:
        """Return the key of a file; where there is none yet, a new one is put there, for its owner alone."""
        if not path.exists():
            _write_once(path, cls.fresh()._pem())
        key = read_key(path)
        if not isinstance(key, cls):
            raise ConfigError("the signing key must be a private key; the file given holds a public one")
        return key

    def digest(self, text: str) -> str:
        """Return what stands for a text in the trail: nobody without the key can find out a short one by trying."""
        return hmac.digest(self._text_key, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def seal(self, row_hash: str) -> str:
        """Return what only this key can write beside a row's hash."""
        seal = self._seal.copy()
        seal.update(row_hash.encode())
        return seal.hexdigest()

    def has_signed(self, message: str, signature: str) -> bool:
        """Whether the signature of a message is this key's: signed again, it is the same, in a third of the time."""
        try:
            return self.sign(message) == signature
        except UnicodeEncodeError:
            return False

    def sign(self, message: str) -> str:
        """Return the signature of a message."""
        return self._private.sign(message.encode()).hex()

    def _pem(self) -> bytes:
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_key(path: Path) -> SigningKey | VerifyKey:
    """Return the key of a PEM file: the whole one, or its public half."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the signing key cannot be read ({error.strerror})") from None
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        private = load_pem_private_key(data, None)
        if isinstance(private, Ed25519PrivateKey):
            return SigningKey(private)
    with contextlib.suppress(ValueError, TypeError, UnsupportedAlgorithm):
        public = load_pem_public_key(data)
        if isinstance(public, Ed25519PublicKey):
            return VerifyKey(public)
    raise ConfigError("the signing key must be an Ed25519 key in PEM form, without a password")


def _write_once(path: Path, data: bytes) -> None:
    """Write a file that only its owner reads; where another process was first, its file stays."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".key-")  # only its owner may read it
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(name, path)
            _settle(path.parent)
        finally:
            Path(name).unlink()
    except OSError as error:
        raise ConfigError(
            f"the signing key cannot be written beside the checkpoints ({error.strerror}); give signing_key a path"
        ) from None


def _settle(folder: Path) -> None:
    """Bring a new name in a folder to the disk: rows whose key is lost in a crash could never be continued."""
    with contextlib.suppress(OSError):  # not every system opens folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
