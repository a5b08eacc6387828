package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pipe returns the agent's end and the controller's, connected by in-memory
// streams.
func pipe(t *testing.T) (a, b *Conn) {
	t.Helper()
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	t.Cleanup(func() { _ = w1.Close(); _ = w2.Close(); _ = r1.Close(); _ = r2.Close() })
	return NewConn(r1, w2, AgentEnd), NewConn(r2, w1, ControllerEnd)
}

func TestMessagesArriveWholeAndInOrder(t *testing.T) {
	for _, size := range []int{0, 1, 9, ChunkSize, ChunkSize + 1, MaxFrame - 1, MaxFrame, MaxFrame + 1, 3*MaxFrame + 7} {
		a, b := pipe(t)
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		sent := make(chan error, 1)
		go func() { sent <- a.Send(Result, 42, want) }()
		got, err := b.Receive()
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got.Type != Result || got.ID != 42 || !bytes.Equal(got.Payload, want) {
			t.Fatalf("%d bytes: got %v id %d with %d bytes", size, got.Type, got.ID, len(got.Payload))
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}

func TestManySendersDoNotMixTheirMessages(t *testing.T) {
	a, b := pipe(t)
	var senders sync.WaitGroup
	for id := range uint32(8) {
		senders.Go(func() {
			body := bytes.Repeat([]byte{byte(id)}, MaxFrame+int(id)*1000)
			for range 3 {
				if err := a.Send(Result, id, body); err != nil {
					t.Errorf("sending: %v", err)
				}
			}
		})
	}
	count := map[uint32]int{}
	for range 24 {
		f, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{byte(f.ID)}, MaxFrame+int(f.ID)*1000); !bytes.Equal(f.Payload, want) {
			t.Fatalf("message %d is mixed up", f.ID)
		}
		count[f.ID]++
	}
	senders.Wait()
	want := map[uint32]int{0: 3, 1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 7: 3}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Fatal(diff)
	}
}

func rawHeader(length uint32, t byte, id uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, length)
	b = append(b, t)
	return binary.BigEndian.AppendUint32(b, id)
}

func TestGarbageIsRefused(t *testing.T) {
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"text":                         {[]byte("GET / HTTP/1.1\r\n\r\n"), "unknown frame"},
		"zero type":                    {rawHeader(0, 0, 0), "unknown frame"},
		"type too high":                {rawHeader(0, byte(lastType), 0), "unknown frame"},
		"huge":                         {rawHeader(1<<31, byte(Result), 0), "the limit is"},
		"one byte over the limit":      {rawHeader(MaxFrame+1, byte(Result), 0), "the limit is"},
		"empty part":                   {rawHeader(0, byte(Result)|more, 0), "empty part"},
		"truncated header":             {rawHeader(0, byte(Result), 0)[:5], "unexpected EOF"},
		"truncated payload":            {append(rawHeader(10, byte(Result), 0), "abc"...), "unexpected EOF"},
		"payload missing":              {rawHeader(10, byte(Result), 0), "unexpected EOF"},
		"no bytes":                     {nil, "EOF"},
		"too many parts":               {manyParts(maxParts + 1), "unfinished messages"},
		"too long message":             {longMessage(Result, 1, MaxResults+1), "the limit is"},
		"not for this end":             {rawHeader(0, byte(Segment), 0), "segment is not for the controller"},
		"heartbeat with a payload":     {rawHeader(1, byte(Heartbeat), 0), "the limit is 0"},
		"call over the limit":          {rawHeader(MaxCall+1, byte(Call), 0), "the limit is"},
		"call over the limit in parts": {longMessage(Call, 1, MaxCall+1), "the limit is"},
		"blob-request over the limit":  {rawHeader(1<<20, byte(BlobRequest), 0), "the limit is"},
		"journal over the limit":       {longMessage(JournalPage, 1, MaxJournal+1), "the limit is"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := NewConn(bytes.NewReader(tt.in), io.Discard, ControllerEnd)
			_, err := c.Receive()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func manyParts(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, rawHeader(1, byte(Result)|more, uint32(i))...)
		b = append(b, 'x')
	}
	return b
}

// longMessage returns the beginning of a message, with the given number of bytes.
func longMessage(t Type, id uint32, bytes int) []byte {
	var out []byte
	for bytes > 0 {
		n := min(bytes, MaxCall) // below all limits that the tests exceed
		out = AppendFrame(out, t, id, make([]byte, n), true)
		bytes -= n
	}
	return out
}

// TestUnfinishedMessagesAreBoundedTogether: the total size of all unfinished messages
// is bounded, whatever their types.
func TestUnfinishedMessagesAreBoundedTogether(t *testing.T) {
	var in []byte
	for id := range uint32(2) {
		in = append(in, longMessage(Result, id, MaxResults)...)
	}
	in = append(in, longMessage(Result, 2, 1)...)
	_, err := NewConn(bytes.NewReader(in), io.Discard, ControllerEnd).Receive()
	if err == nil || !strings.Contains(err.Error(), "bytes of unfinished messages") {
		t.Errorf("got %v", err)
	}
}

func TestSendRefusesTooLongMessages(t *testing.T) {
	var out bytes.Buffer
	for _, tt := range []struct {
		from End
		kind Type
		size int
	}{
		{AgentEnd, Result, MaxResults + 1}, {AgentEnd, Call, MaxCall + 1}, {AgentEnd, Segment, 1},
		{ControllerEnd, Segment, MaxMessage + 1}, {ControllerEnd, Result, 1},
	} {
		var wrong *Error
		if err := NewConn(strings.NewReader(""), &out, tt.from).Send(tt.kind, 1, make([]byte, tt.size)); !errors.As(err, &wrong) || out.Len() > 0 {
			t.Errorf("%v: got %v, %d bytes sent", tt, err, out.Len())
		}
	}
}

func TestVersionMismatchSaysWhatToDo(t *testing.T) {
	err := HelloMessage{Version: Version + 1}.CheckVersion()
	if err == nil || !strings.Contains(err.Error(), "build both again") {
		t.Fatalf("got %v", err)
	}
	if err := (HelloMessage{Version: Version}).CheckVersion(); err != nil {
		t.Fatal(err)
	}
}

// FuzzReceive: for any data, Receive ends with an error or a message within the
// limits.
func FuzzReceive(f *testing.F) {
	f.Add(rawHeader(3, byte(Hello), 1))
	f.Add(append(rawHeader(2, byte(Segment), 1), "{}"...))
	f.Add(append(append(rawHeader(1, byte(Result)|more, 1), 'a'), append(rawHeader(1, byte(Result), 1), 'b')...))
	f.Add(append(rawHeader(4, byte(BlobGrant), 9), 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := NewConn(bytes.NewReader(in), io.Discard, ControllerEnd)
		total := 0
		for {
			m, err := c.Receive()
			if err != nil {
				return
			}
			total += len(m.Payload)
			if total > len(in) || !m.Type.known() {
				t.Fatalf("%v with %d bytes out of %d", m.Type, total, len(in))
			}
			_, _ = m.Grant()
			var h HelloMessage
			_ = m.Decode(&h)
			if m.Type == BlobChunk {
				c.Recycle(m.Payload)
			}
		}
	})
}

// TestCutAnywhere: a stream of frames that is cut at a random place gives all whole
// messages before the cut and then an error.
func TestCutAnywhere(t *testing.T) {
	var whole bytes.Buffer
	w := NewConn(strings.NewReader(""), &whole, AgentEnd)
	ends := []int{0}
	for i := range 20 {
		if err := w.Send(Result, uint32(i), make([]byte, rand.IntN(300))); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, whole.Len())
	}
	for cut := 0; cut < whole.Len(); cut += 1 + rand.IntN(5) {
		c := NewConn(bytes.NewReader(whole.Bytes()[:cut]), io.Discard, ControllerEnd)
		n := 0
		var err error
		for ; err == nil; n++ {
			_, err = c.Receive()
		}
		n--
		if ends[n] > cut || ends[n+1] <= cut {
			t.Fatalf("cut at %d gave %d messages", cut, n)
		}
		if atEnd := ends[n] == cut; atEnd != errors.Is(err, io.EOF) || atEnd == errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}
