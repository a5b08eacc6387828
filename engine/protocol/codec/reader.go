package codec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"deployer/engine/jsonappend"
)

// reader decodes a message. After the first error it returns zero values. Texts
// share the memory of one copy of the message, unless the message is large: a short
// text that lives long would keep all of it.
type reader struct {
	data   []byte
	text   string // data as a string; empty for a large message
	offset int
	err    error
	// weight is an estimate of the bytes allocated beside texts, maxWeight its limit, or
	// 0 for none.
	weight, maxWeight int
}

// shared is the length in bytes up to which the texts of a message share memory.
const shared = 64 << 10

func newReader(data []byte) *reader {
	r := &reader{data: data}
	if len(data) <= shared {
		r.text = string(data)
	}
	return r
}

// reserve adds bytes to the weight before they are allocated, and fails beyond the
// limit.
func (r *reader) reserve(bytes int) bool {
	if r.weight += bytes; r.maxWeight > 0 && r.weight > r.maxWeight {
		r.fail(fmt.Errorf("the message needs more than %d bytes of memory", r.maxWeight))
		return false
	}
	return true
}

func (r *reader) more() bool { return r.err == nil && r.offset < len(r.data) }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.offset = len(r.data)
}

func (r *reader) flags() uint64 {
	n, size := binary.Uvarint(r.data[r.offset:])
	if size <= 0 {
		r.fail(errTruncated)
		return 0
	}
	r.offset += size
	return n
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.data[r.offset:])
	if size <= 0 {
		r.fail(errTruncated)
		return 0
	}
	r.offset += size
	return n
}

// span returns the bounds of the next text.
func (r *reader) span() (from, to int) {
	n := r.flags()
	if n > uint64(len(r.data)-r.offset) {
		r.fail(errTruncated)
		return r.offset, r.offset
	}
	from = r.offset
	r.offset += int(n)
	return from, r.offset
}

func (r *reader) string() string {
	from, to := r.span()
	if r.text == "" {
		return string(r.data[from:to])
	}
	return r.text[from:to]
}

// raw returns the next text as bytes, which share the memory of the message.
func (r *reader) raw() []byte {
	from, to := r.span()
	return r.data[from:to:to]
}

// count returns the length of a list. Each element takes a byte at least, so a
// larger number is an error.
func (r *reader) count() int {
	n := r.flags()
	if n > uint64(len(r.data)-r.offset) {
		r.fail(errTruncated)
		return 0
	}
	return int(n)
}

func (r *reader) list() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = r.string()
	}
	return out
}

func (r *reader) json(into any) {
	raw := r.raw()
	if len(raw) == 0 || r.maxWeight > 0 && !r.reserve(jsonappend.Weigh(raw)) {
		return
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.fail(err)
	}
}
