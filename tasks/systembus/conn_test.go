package systembus

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bus plays one: it greets, sends a signal, and answers GetAll with what it is
// given. It returns its socket.
func bus(t *testing.T, greeting string, answer func(serial uint32) []byte) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, greeting, answer)
		}
	}()
	return socket
}

func serve(c net.Conn, greeting string, answer func(serial uint32) []byte) {
	defer c.Close()
	in := bufio.NewReader(c)
	if line, _ := in.ReadString('\n'); !strings.HasPrefix(line, "\x00AUTH EXTERNAL ") {
		return
	}
	_, _ = io.WriteString(c, greeting+"\r\n")
	if line, _ := in.ReadString('\n'); line != "BEGIN\r\n" {
		return
	}
	for serial := uint32(1); ; serial++ {
		m, err := receive(in)
		if err != nil {
			return
		}
		_, _ = c.Write(signal())
		if m.signature == "" {
			_, _ = c.Write(reply(2, serial, "s", []byte("\x05\x00\x00\x00:1.42\x00")))
			continue
		}
		_, _ = c.Write(answer(serial))
	}
}

// reply is an answer, of kind 2, or 3 for an error.
func reply(kind byte, to uint32, signature string, body []byte) []byte {
	var fields encoder
	fields.align(8)
	fields = append(fields, fieldReplyTo, 1, 'u', 0)
	fields.number(to)
	fields.field(fieldSignature, 'g', signature)
	out := encoder{'l', kind, 0, 1}
	out.number(uint32(len(body)))
	out.number(7)
	out.number(uint32(len(fields)))
	out = append(out, fields...)
	out.align(8)
	return append(out, body...)
}

func signal() []byte { return reply(4, 0, "s", []byte("\x01\x00\x00\x00x\x00")) }

// pairs is a body with an array of names and values, each of which is written
// by its function.
func pairs(write ...func(e *encoder)) []byte {
	var e encoder
	e.number(0)
	e.number(0) // the first pair is aligned to 8
	for _, w := range write {
		e.align(8)
		w(&e)
	}
	binary.LittleEndian.PutUint32(e, uint32(len(e)-8))
	return e
}

func named(name, signature string, write func(e *encoder)) func(e *encoder) {
	return func(e *encoder) {
		e.text(name)
		*e = append(append(append(*e, byte(len(signature))), signature...), 0)
		write(e)
	}
}

func unitPairs() []byte {
	return pairs(
		named("ActiveState", "s", func(e *encoder) { e.text("active") }),
		named("CanReload", "b", func(e *encoder) { e.number(1) }),
		named("MainPID", "u", func(e *encoder) { e.number(4711) }),
		named("Started", "t", func(e *encoder) {
			e.align(8)
			*e = binary.LittleEndian.AppendUint64(*e, 1<<40)
		}),
		named("InvocationID", "ay", func(e *encoder) {
			e.number(3)
			*e = append(*e, 1, 2, 255)
		}),
		named("DropInPaths", "as", func(e *encoder) {
			e.number(7)
			e.text("/a")
		}),
		named("Nothing", "a(sasbt)", func(e *encoder) {
			e.number(0)
			e.align(8)
		}),
		named("LoadError", "(ss)", func(e *encoder) {
			e.align(8)
			e.text("")
			e.text("why")
		}),
		named("Wrapped", "v", func(e *encoder) {
			*e = append(*e, 1, 'q', 0)
			e.align(2)
			*e = append(*e, 3, 1)
		}),
	)
}

func TestProperties(t *testing.T) {
	t.Parallel()
	c, err := Dial(t.Context(), bus(t, "OK 1234", func(serial uint32) []byte { return reply(2, serial, "a{sv}", unitPairs()) }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := map[string]any{
		"ActiveState": "active", "CanReload": true, "MainPID": uint64(4711), "Started": uint64(1 << 40),
		"InvocationID": []any{uint64(1), uint64(2), uint64(255)}, "DropInPaths": []any{"/a"}, "Nothing": []any{},
		"LoadError": []any{"", "why"}, "Wrapped": uint64(259),
	}
	for range 2 { // the connection is good for more than one
		got, err := c.Properties(t.Context(), "org.freedesktop.systemd1", "/a/b")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer []byte
		want   string
	}{
		"an error":          {reply(3, 2, "s", []byte("\x03\x00\x00\x00no!\x00")), "no!"},
		"an empty error":    {reply(3, 2, "", nil), "is an error"},
		"another signature": {reply(2, 2, "s", []byte("\x00\x00\x00\x00\x00")), errGarbled.Error()},
		"cut":               {reply(2, 2, "a{sv}", unitPairs()[:40]), errGarbled.Error()},
		"no end":            {reply(2, 2, "a{sv}", pairs(named("x", "a()", func(e *encoder) { e.number(64) }))), errGarbled.Error()},
		"another protocol":  {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), errGarbled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Dial(t.Context(), bus(t, "OK 1234", func(uint32) []byte { return tt.answer }))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Properties(t.Context(), "x", "/x"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestNoBus(t *testing.T) {
	t.Parallel()
	if _, err := Dial(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a bus that is not there has answered")
	}
	if _, err := Dial(t.Context(), bus(t, "REJECTED EXTERNAL", nil)); err == nil || !strings.Contains(err.Error(), "REJECTED") {
		t.Errorf("%v", err)
	}
}

// TestNoAnswer: whoever waits is not held longer than the step.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	c, err := Dial(t.Context(), bus(t, "OK 1234", func(uint32) []byte { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := c.Properties(ctx, "x", "/x"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(reply(2, 2, "a{sv}", unitPairs()))
	f.Add(reply(3, 2, "s", []byte("\x03\x00\x00\x00no!\x00")))
	f.Add(signal())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := receive(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		_ = m.problem()
		all, err := m.array("a{sv}")
		if err == nil && len(all) > len(data) {
			t.Errorf("%d pairs of %d bytes", len(all), len(data))
		}
	})
}
