package cri

import (
	"encoding/binary"
	"errors"
)

// The two wire types of protobuf that CRI's messages here are made of
// (protobuf.dev/programming-guides/encoding). The module of protobuf would hash the
// agent at each start, to vary its error texts.
const (
	varintType = 0
	bytesType  = 2
)

// fields is a protobuf message that is written: each call appends one field.
type fields []byte

func (f fields) text(number uint64, value string) fields { return f.message(number, fields(value)) }

func (f fields) number(number, value uint64) fields {
	return binary.AppendUvarint(binary.AppendUvarint(f, number<<3|varintType), value)
}

func (f fields) message(number uint64, value fields) fields {
	f = binary.AppendUvarint(binary.AppendUvarint(f, number<<3|bytesType), uint64(len(value)))
	return append(f, value...)
}

// parsed is a protobuf message that was read: the values of each field, in order.
type parsed struct {
	bytes   map[uint64][][]byte
	numbers map[uint64]uint64
}

var errMessage = errors.New("this is no message of CRI")

// parse reads a message. Numbers of fixed size, which CRI has none of, are errors.
func parse(raw []byte) (parsed, error) {
	p := parsed{bytes: map[uint64][][]byte{}, numbers: map[uint64]uint64{}}
	next := func() (value uint64, ok bool) {
		value, n := binary.Uvarint(raw)
		raw = raw[max(0, n):]
		return value, n > 0
	}
	for len(raw) > 0 {
		tag, ok := next()
		value, ok2 := next()
		if !ok || !ok2 {
			return p, errMessage
		}
		switch number := tag >> 3; tag & 7 {
		case varintType:
			p.numbers[number] = value
		case bytesType:
			if value > uint64(len(raw)) {
				return p, errMessage
			}
			p.bytes[number] = append(p.bytes[number], raw[:value])
			raw = raw[value:]
		default:
			return p, errMessage
		}
	}
	return p, nil
}

// text is the value of a field that stands there once; empty when it is missing.
func (p parsed) text(number uint64) string {
	if all := p.bytes[number]; len(all) > 0 {
		return string(all[len(all)-1])
	}
	return ""
}
