// Package packed is the form in which segments and results travel between
// controller and agent. They are most of what is said, a thousand hosts with
// hundreds of steps each, so they have few bytes and cost little to read: texts
// and numbers one after the other in a fixed order, without names.
//
// A number is a varint, a text or a list its length and what is in it, a group of
// yes and no one number with a bit for each. What has no fixed form, such as the
// output of a step, is JSON in a text.
//
// Both ends are of one build (see wire.Version), so there is nothing that tells
// one form from an older one. What does not fit is an error, never a panic, and
// no length in it is believed before the bytes are there.
package codec

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// errTruncated is what every malformed message is: something ends before its length.
var errTruncated = errors.New("it ends too early")

// flags are what is so, of a fixed list.
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

// appendJSON writes what has no fixed form; empty is for nothing at all.
func appendJSON(out []byte, v any, is bool) ([]byte, error) {
	if !is {
		return append(out, 0), nil
	}
	raw, err := json.Marshal(v)
	return appendText(out, raw), err
}
