"""Text into tokens: WordPiece as the `tokenizers` library does it, in slices, so that no text holds up the process.

One call of the library keeps the interpreter to itself and needs about 700 bytes per character: a second, and 700 MB,
for a million characters. A slice is cut where a word begins, so the tokens are those of the whole text. (A "word"
longer than a slice is unknown either way, but gives several unknown tokens instead of one.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from director_ai.nli.manifest import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

__all__ = ["SLICE", "Tokenizer", "Tokens", "clean"]

SLICE = 8192
"""Characters; about ten milliseconds of tokenizing."""
LONGEST_WORD = 256
"""Characters; BERT's own limit, beyond which a word is unknown, is 100."""


class Tokens(NamedTuple):
    """A text's tokens, without the special ones."""

    ids: NDArray[np.int32]
    words: NDArray[np.int32]
    """For each token the number of its word, which never falls."""


def clean(text: str) -> bytes:
    """Return the text as UTF-8, with U+FFFD for each half of a surrogate pair that stands alone."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


class Tokenizer:
    """The tokenizer of a BERT-type model, and the ids that frame its input."""

    def __init__(self, content: bytes, where: str) -> None:
        import tokenizers  # noqa: PLC0415 - not before a model is loaded

        try:
            self._encode = self._open(tokenizers.Tokenizer.from_buffer(content))
        except Exception as error:
            raise ModelError(f"{where} is no tokenizer that tokenizers can read ({type(error).__name__})") from error
        frame = self._encode("", "", add_special_tokens=True)
        if len(frame.ids) != 3 or list(frame.type_ids) != [0, 0, 1]:
            raise ModelError(
                f"{where} must frame a pair as BERT does, with one token before, one between and one after"
            )
        self.first, self.middle, self.last = frame.ids

    def _open(self, tokenizer: Any) -> Any:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text, not a border that its writer may set
        pad = tokenizer.token_to_id("[PAD]")
        self.padding = 0 if pad is None else int(pad)
        return tokenizer.encode

    def tokens(self, text: str, slice_size: int = SLICE) -> Tokens:
        """Return the tokens of a text of any length."""
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        ids: list[NDArray[np.int32]] = []
        words: list[NDArray[np.int32]] = []
        start = word = 0
        while True:
            encoding = self._encode(text[start : start + slice_size], add_special_tokens=False)
            is_last = start + slice_size >= len(text)
            kept, length = (len(encoding.ids), slice_size) if is_last else _whole_words(encoding, slice_size)
            ids.append(np.array(encoding.ids[:kept], np.int32))
            words.append(np.array(encoding.word_ids[:kept], np.int32) + word)
            if is_last:
                return Tokens(np.concatenate(ids), np.concatenate(words))
            word = int(words[-1][-1]) + 1 if kept else word
            start += length


def _whole_words(encoding: Encoding, length: int) -> tuple[int, int]:
    """Return how many tokens are of whole words, and where the next slice begins: with the last word."""
    word_ids, offsets = encoding.word_ids, encoding.offsets
    if not word_ids:
        return 0, length
    first_of_last = word_ids.index(word_ids[-1])
    if begin := offsets[first_of_last][0]:
        return first_of_last, begin
    fills_the_slice = offsets[-1][1] >= length
    # One word from end to end: the next slice begins with enough of it to be unknown too.
    return len(word_ids), length - min(LONGEST_WORD, length // 2) if fills_the_slice else length
