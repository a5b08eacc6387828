package ssh

import (
	"bytes"
	"errors"
	"testing"
)

// sink records what is written to it, and fails from a number of bytes on.
type sink struct {
	bytes.Buffer
	greatest int
	limit    int
}

var errFull = errors.New("full")

func (s *sink) Write(p []byte) (int, error) {
	if s.limit > 0 && s.Len()+len(p) > s.limit {
		n, _ := s.Buffer.Write(p[:s.limit-s.Len()])
		return n, errFull
	}
	s.greatest = max(s.greatest, len(p))
	return s.Buffer.Write(p)
}

func (*sink) Close() error { return nil }

func TestPieces(t *testing.T) {
	for size, greatest := range map[int]int{
		0: 0, 1: 1, smallPiece: smallPiece, smallPiece + 1: smallPiece, 5*smallPiece - 1: smallPiece,
		shortWrite - 1: smallPiece, shortWrite: shortWrite, 3 * shortWrite: 3 * shortWrite,
	} {
		data := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		var s sink
		n, err := chunkedWriter{&s}.Write(data)
		if n != size || err != nil || s.greatest != greatest || !bytes.Equal(s.Bytes(), data) {
			t.Errorf("%d bytes: %d written, %v, greatest piece %d, want %d", size, n, err, s.greatest, greatest)
		}
	}
	full := sink{limit: 2*smallPiece + 7}
	if n, err := (chunkedWriter{&full}).Write(make([]byte, 4*smallPiece)); n != full.limit || !errors.Is(err, errFull) {
		t.Errorf("%d bytes, %v; want %d, %v", n, err, full.limit, errFull)
	}
}
