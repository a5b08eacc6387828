package nodedns

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// answer is the part of a response that matters: its code (RFC 1035, 4.1.1) and the number of its records.
type answer struct {
	code    byte
	records uint16
}

// The codes of responses that have names of their own in errors.
const (
	codeOK       = 0
	codeServFail = 2
	codeNXDomain = 3
)

func (a answer) String() string {
	switch a.code {
	case codeOK:
		return fmt.Sprintf("%d records", a.records)
	case codeServFail:
		return "SERVFAIL"
	case codeNXDomain:
		return "NXDOMAIN"
	}
	return fmt.Sprintf("code %d", a.code)
}

// attemptTimeout is the maximum time of one query over UDP, of which packets may be lost.
const attemptTimeout = time.Second

// ask asks a server over UDP for the addresses of a name in the server's own family, and again until ctx ends
// when no response comes. A refused query is an error at once.
func ask(ctx context.Context, server, name string) (answer, error) {
	address, err := netip.ParseAddrPort(server)
	if err != nil {
		return answer{}, err
	}
	kind := uint16(1) // A
	if address.Addr().Is6() {
		kind = 28 // AAAA
	}
	question := encode(name, kind)
	for {
		got, err := exchange(ctx, server, question)
		var late net.Error
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return answer{}, context.Cause(ctx)
		case !errors.As(err, &late) || !late.Timeout():
			return answer{}, err
		}
	}
}

// exchange sends a question and waits for the response with its number.
func exchange(ctx context.Context, server string, question []byte) (answer, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", server)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = conn.Close() }()
	until := time.Now().Add(attemptTimeout)
	if end, ok := ctx.Deadline(); ok && end.Before(until) {
		until = end
	}
	_, _ = rand.Read(question[:2]) // never fails
	if err := conn.SetDeadline(until); err != nil {
		return answer{}, err
	}
	if _, err := conn.Write(question); err != nil {
		return answer{}, err
	}
	buffer := make([]byte, 1500)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return answer{}, err
		}
		if n >= 12 && buffer[0] == question[0] && buffer[1] == question[1] {
			return answer{code: buffer[3] & 0x0f, records: binary.BigEndian.Uint16(buffer[6:8])}, nil
		}
	}
}

// encode returns a question with recursion desired (RFC 1035, 4.1).
func encode(name string, kind uint16) []byte {
	out := []byte{0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		out = append(append(out, byte(min(len(label), 63))), label[:min(len(label), 63)]...)
	}
	out = append(out, 0)
	out = binary.BigEndian.AppendUint16(out, kind)
	return binary.BigEndian.AppendUint16(out, 1) // IN
}
