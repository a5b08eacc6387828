package systembus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The kinds of messages that matter here, and the fields of their headers.
const (
	kindCall, kindError                                                           = 1, 3
	fieldPath, fieldInterface, fieldMember, fieldReplyTo, fieldTo, fieldSignature = 1, 2, 3, 5, 6, 8
)

// maxMessage is what a message may have, in bytes. The properties of a unit have 14 kB.
const maxMessage = 4 << 20

// errGarbled is said of what does not follow the specification.
var errGarbled = errors.New("the bus sent something that makes no sense")

// message is one that was received.
type message struct {
	kind      byte
	replyTo   uint32
	signature string
	body      []byte
}

// request is a call with arguments that are strings, as it is sent.
func request(serial uint32, service, object, iface, member string, args ...string) []byte {
	var body, fields encoder
	signature := ""
	for _, a := range args {
		body.text(a)
		signature += "s"
	}
	fields.field(fieldPath, 'o', object)
	fields.field(fieldInterface, 's', iface)
	fields.field(fieldMember, 's', member)
	fields.field(fieldTo, 's', service)
	if signature != "" {
		fields.field(fieldSignature, 'g', signature)
	}
	out := encoder{'l', kindCall, 0, 1} // little endian, no flags, version 1
	out.number(uint32(len(body)))
	out.number(serial)
	out.number(uint32(len(fields)))
	out = append(out, fields...)
	out.align(8)
	return append(out, body...)
}

// encoder writes values one behind the other.
type encoder []byte

func (e *encoder) align(n int) {
	for len(*e)%n != 0 {
		*e = append(*e, 0)
	}
}

func (e *encoder) number(n uint32) {
	e.align(4)
	*e = binary.LittleEndian.AppendUint32(*e, n)
}

func (e *encoder) text(s string) {
	e.number(uint32(len(s)))
	*e = append(append(*e, s...), 0)
}

// field writes one of a header. It stands at a multiple of 16 bytes from the
// beginning, so that it can be aligned by itself.
func (e *encoder) field(code, kind byte, value string) {
	e.align(8)
	*e = append(*e, code, 1, kind, 0)
	if kind == 'g' {
		*e = append(append(append(*e, byte(len(value))), value...), 0)
		return
	}
	e.text(value)
}

// receive reads one message.
func receive(in io.Reader) (message, error) {
	var head [16]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return message{}, err
	}
	body, fields := int64(binary.LittleEndian.Uint32(head[4:])), int64(binary.LittleEndian.Uint32(head[12:]))
	padded := (fields + 7) &^ 7
	if head[0] != 'l' || head[3] != 1 || body+padded > maxMessage {
		return message{}, errGarbled
	}
	rest := make([]byte, padded+body)
	if _, err := io.ReadFull(in, rest); err != nil {
		return message{}, err
	}
	m := message{kind: head[1], body: rest[padded:]}
	return m, m.header(rest[:fields])
}

// header takes what is needed from the fields of a header.
func (m *message) header(data []byte) error {
	d := decoder{data: data}
	for d.at < len(data) && !d.bad {
		field, _ := d.value("(yv)").([]any)
		switch field[0] {
		case uint64(fieldReplyTo):
			n, _ := field[1].(uint64)
			m.replyTo = uint32(n)
		case uint64(fieldSignature):
			m.signature, _ = field[1].(string)
		}
	}
	if d.bad {
		return errGarbled
	}
	return nil
}

// problem is what an answer that is an error says.
func (m *message) problem() error {
	if m.kind != kindError {
		return nil
	}
	d := decoder{data: m.body}
	if first, _ := split(m.signature); first == "s" {
		if text, _ := d.value("s").(string); text != "" && !d.bad {
			return fmt.Errorf("the answer is an error: %s", text)
		}
	}
	return errors.New("the answer is an error")
}

// array returns the elements of a body that is one array of that signature.
func (m *message) array(signature string) ([]any, error) {
	d := decoder{data: m.body}
	if m.signature != signature {
		return nil, errGarbled
	}
	all, _ := d.value(signature).([]any)
	if d.bad {
		return nil, errGarbled
	}
	return all, nil
}
