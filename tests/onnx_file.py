"""A small ONNX model written byte by byte, because the onnx package is larger than all of this.

ONNX files are protocol buffers (https://onnx.ai/onnx/repo-docs/IR.html): every field is a key,
``number << 3 | wire type``, and a varint, or a length and bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

FLOAT, INT64, BOOL = 1, 7, 9
Dimension = int | str


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def node(kind: str, inputs: Sequence[str], output: str, **attributes: int) -> bytes:
    """An operator; attributes are whole numbers."""
    parts = [_bytes(1, name) for name in inputs] + [_bytes(2, output), _bytes(4, kind)]
    for name, value in attributes.items():
        # AttributeProto: name, i, and type INT.
        parts.append(_bytes(5, _bytes(1, name) + _number(3, value) + _number(20, 2)))
    return b"".join(parts)


def constant(name: str, values: Sequence[int]) -> bytes:
    """A one-dimensional int64 tensor."""
    data = b"".join(value.to_bytes(8, "little", signed=True) for value in values)
    return _number(1, len(values)) + _number(2, INT64) + _bytes(8, name) + _bytes(9, data)


def value(name: str, kind: int, shape: Sequence[Dimension]) -> bytes:
    """An input or output with its shape; a text is a dimension of any size."""
    dims = b"".join(
        _bytes(1, _number(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape
    )
    tensor = _number(1, kind) + _bytes(2, dims)
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


def model(
    nodes: Sequence[bytes],
    constants: Sequence[bytes],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
) -> bytes:
    """An ONNX file of opset 13."""
    graph = b"".join(
        [_bytes(1, one) for one in nodes]
        + [_bytes(2, "tiny")]
        + [_bytes(5, one) for one in constants]
        + [_bytes(11, one) for one in inputs]
        + [_bytes(12, one) for one in outputs]
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 13))


def word_overlap() -> bytes:
    """A cross-encoder whose logit is the number of equal tokens in question and text, less 3.

    Pairs of positions count where the first is of the question (type 0), the second of the text
    (type 1), neither is padding or a mark (ids 0 to 3), and their ids are equal.
    """
    nodes = [
        node("Greater", ["input_ids", "three"], "word"),
        node("Cast", ["word"], "word_number", to=INT64),
        node("Mul", ["word_number", "attention_mask"], "real"),
        node("Mul", ["real", "token_type_ids"], "in_text"),
        node("Sub", ["real", "in_text"], "in_question"),
        node("Unsqueeze", ["input_ids", "axis_two"], "ids_down"),
        node("Unsqueeze", ["input_ids", "axis_one"], "ids_across"),
        node("Equal", ["ids_down", "ids_across"], "equal"),
        node("Cast", ["equal"], "equal_number", to=INT64),
        node("Unsqueeze", ["in_question", "axis_two"], "question_down"),
        node("Unsqueeze", ["in_text", "axis_one"], "text_across"),
        node("Mul", ["question_down", "text_across"], "pairs"),
        node("Mul", ["pairs", "equal_number"], "hits"),
        node("ReduceSum", ["hits", "axis_one"], "by_text", keepdims=0),
        node("ReduceSum", ["by_text", "axis_one"], "count", keepdims=1),
        node("Sub", ["count", "three"], "less"),
        node("Cast", ["less"], "logits", to=FLOAT),
    ]
    constants = [constant("three", [3]), constant("axis_one", [1]), constant("axis_two", [2])]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [value(name, INT64, ("batch", "length")) for name in names]
    return model(nodes, constants, inputs, [value("logits", FLOAT, ("batch", 1))])


def token_ids() -> bytes:
    """A model that gives one number a token, so no cross-encoder."""
    inputs = [value("input_ids", INT64, ("batch", "length"))]
    outputs = [value("logits", FLOAT, ("batch", "length"))]
    return model([node("Cast", ["input_ids"], "logits", to=FLOAT)], [], inputs, outputs)


def bag_of_words(width: int) -> bytes:
    """An embedding model: the vector of a token has a one at the token's id, zeros elsewhere."""
    nodes = [
        node("OneHot", ["input_ids", "width", "off_on"], "ones"),
        node("Cast", ["ones"], "last_hidden_state", to=FLOAT),
    ]
    constants = [constant("width", [width]), constant("off_on", [0, 1])]
    inputs = [value(name, INT64, ("batch", "length")) for name in ("input_ids", "attention_mask")]
    outputs = [value("last_hidden_state", FLOAT, ("batch", "length", width))]
    return model(nodes, constants, inputs, outputs)
