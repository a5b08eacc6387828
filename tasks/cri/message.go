package cri

import (
	"encoding/binary"
	"errors"
)

// The two wire types of protobuf that the messages here use
// (protobuf.dev/programming-guides/encoding). The protobuf module would hash the agent
// at each start, to vary its error texts.
const (
	varintType = 0
	bytesType  = 2
)

// fields is a protobuf message under construction: each call appends one field.
type fields []byte

func (f fields) text(number uint64, value string) fields { return f.message(number, fields(value)) }

func (f fields) number(number, value uint64) fields {
	return binary.AppendUvarint(binary.AppendUvarint(f, number<<3|varintType), value)
}

func (f fields) message(number uint64, value fields) fields {
	f = binary.AppendUvarint(binary.AppendUvarint(f, number<<3|bytesType), uint64(len(value)))
	return append(f, value...)
}

// parsed is a decoded protobuf message: the values of each field, in order.
type parsed struct {
	bytes   map[uint64][][]byte
	numbers map[uint64]uint64
}

var errMessage = errors.New("the response is not a message of CRI")

// parse decodes a message. Fixed-size numbers, which CRI does not use, are errors.
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

// text returns the value of a field that occurs once; empty when it is missing.
func (p parsed) text(number uint64) string {
	if all := p.bytes[number]; len(all) > 0 {
		return string(all[len(all)-1])
	}
	return ""
}
