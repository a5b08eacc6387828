// Package codec encodes segments and results for the frames of package protocol. Segments and results
// are most of the traffic, hundreds of steps for each of a thousand hosts, so the
// form is short and cheap to read: texts and numbers in a fixed order, without
// names.
//
// A number is a varint, a text or a list is its length and its content, a group of
// booleans is one number with a bit each. A value without a fixed form, such as the
// output of a step, is JSON in a text.
//
// Both ends are of one build (see protocol.Version), so the form has no version. A
// message that does not decode is an error, never a panic, and no length in it is
// trusted before the bytes are there.
package codec

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// errTruncated is the error for a message that ends before a length in it.
var errTruncated = errors.New("the message is truncated")

// flags encodes a fixed list of booleans as bits, the first as the lowest.
func flags(list ...bool) uint64 {
	var out uint64
	for i, set := range list {
		if set {
			out |= 1 << i
		}
	}
	return out
}

func appendNumber[T ~int | ~int64](out []byte, n T) []byte { return binary.AppendVarint(out, int64(n)) }

func appendText[T ~string | ~[]byte](out []byte, s T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

func appendList(out []byte, list []string) []byte {
	out = binary.AppendUvarint(out, uint64(len(list)))
	for _, s := range list {
		out = appendText(out, s)
	}
	return out
}

// appendJSON appends the JSON of v as a text when is is true, and an empty text
// otherwise.
func appendJSON(out []byte, v any, is bool) ([]byte, error) {
	if !is {
		return append(out, 0), nil
	}
	raw, err := json.Marshal(v)
	return appendText(out, raw), err
}
