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

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// fakeBus listens on a socket and returns its path. It answers AUTH with greeting, sends
// a signal before each reply, and calls answer with the serial of each GetAll.
func fakeBus(t *testing.T, greeting string, answer func(w io.Writer, serial uint32)) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "bus")
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

func serve(c net.Conn, greeting string, answer func(w io.Writer, serial uint32)) {
	defer c.Close()
	in := bufio.NewReader(c)
	if line, _ := in.ReadString('\n'); line != "\x00AUTH\r\n" {
		return
	}
	_, _ = io.WriteString(c, "REJECTED EXTERNAL\r\n")
	if line, _ := in.ReadString('\n'); line != "AUTH EXTERNAL\r\n" {
		return
	}
	_, _ = io.WriteString(c, "DATA\r\n")
	if line, _ := in.ReadString('\n'); line != "DATA\r\n" {
		return
	}
	_, _ = io.WriteString(c, greeting+"\r\n")
	if line, _ := in.ReadString('\n'); line != "BEGIN\r\n" {
		return
	}
	for {
		m, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		signal := &dbus.Message{Type: dbus.TypeSignal, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath("/x")), dbus.FieldInterface: dbus.MakeVariant("x.y"),
			dbus.FieldMember: dbus.MakeVariant("Changed"), dbus.FieldSender: dbus.MakeVariant(":1.1"),
		}}
		_ = signal.EncodeTo(c, binary.LittleEndian)
		if m.Headers[dbus.FieldMember].Value() == "Hello" {
			reply(c, dbus.TypeMethodReply, m.Serial(), ":1.42")
			continue
		}
		answer(c, m.Serial())
	}
}

// reply sends a reply or an error.
func reply(w io.Writer, kind dbus.Type, to uint32, body ...any) {
	headers := map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(to)}
	if kind == dbus.TypeError {
		headers[dbus.FieldErrorName] = dbus.MakeVariant("org.example.Refused")
	}
	if len(body) > 0 {
		headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	m := &dbus.Message{Type: kind, Headers: headers, Body: body}
	_ = m.EncodeTo(w, binary.LittleEndian)
}

func TestProperties(t *testing.T) {
	t.Parallel()
	type loadError struct{ Name, Text string }
	c, err := Dial(t.Context(), fakeBus(t, "OK 1234", func(w io.Writer, serial uint32) {
		reply(w, dbus.TypeMethodReply, serial, map[string]dbus.Variant{
			"ActiveState": dbus.MakeVariant("active"), "CanReload": dbus.MakeVariant(true), "MainPID": dbus.MakeVariant(uint32(4711)),
			"Started": dbus.MakeVariant(uint64(1 << 40)), "InvocationID": dbus.MakeVariant([]byte{1, 2, 255}),
			"DropInPaths": dbus.MakeVariant([]string{"/a"}), "LoadError": dbus.MakeVariant(loadError{"", "why"}),
		})
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want := map[string]any{
		"ActiveState": "active", "CanReload": true, "MainPID": uint32(4711), "Started": uint64(1 << 40),
		"InvocationID": []byte{1, 2, 255}, "DropInPaths": []string{"/a"}, "LoadError": []any{"", "why"},
	}
	for range 2 { // a connection serves several calls
		got, err := c.Properties(t.Context(), "org.freedesktop.systemd1", "/a/b")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestInvalidReplies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(w io.Writer, serial uint32)
		want   string
	}{
		"an error":          {func(w io.Writer, serial uint32) { reply(w, dbus.TypeError, serial, "no!") }, "no!"},
		"an empty error":    {func(w io.Writer, serial uint32) { reply(w, dbus.TypeError, serial) }, "org.example.Refused"},
		"another signature": {func(w io.Writer, serial uint32) { reply(w, dbus.TypeMethodReply, serial, "text") }, "waiting for the answer of x"},
		"no body":           {func(w io.Writer, serial uint32) { reply(w, dbus.TypeMethodReply, serial) }, "waiting for the answer of x"},
		"another protocol":  {func(w io.Writer, _ uint32) { _, _ = io.WriteString(w, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "waiting for the answer of x"},
		"a closed bus":      {func(w io.Writer, _ uint32) { _ = w.(net.Conn).Close() }, "waiting for the answer of x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Dial(t.Context(), fakeBus(t, "OK 1234", tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if _, err := c.Properties(ctx, "x", "/x"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	if _, err := Dial(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no bus: %v", err)
	}
	if _, err := Dial(t.Context(), fakeBus(t, "REJECTED EXTERNAL", nil)); err == nil || !strings.HasPrefix(err.Error(), "greeting the bus: ") {
		t.Errorf("a bus that refuses the user: %v", err)
	}
}

// TestHangingBusEndsWithTheContext: with a bus that never answers or never reads, a call
// ends with its context.
func TestHangingBusEndsWithTheContext(t *testing.T) {
	t.Parallel()
	silent := func(io.Writer, uint32) {}
	deaf := func(io.Writer, uint32) { <-t.Context().Done() } // does not read the next call
	within := func(t *testing.T, what string, f func(ctx context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := f(ctx); err == nil {
			t.Errorf("%s: no error", what)
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: returned after %s", what, d)
		}
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "mute"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	within(t, "no greeting", func(ctx context.Context) error {
		_, err := Dial(ctx, l.Addr().String())
		return err
	})
	for what, answer := range map[string]func(io.Writer, uint32){"no answer": silent, "no reader": deaf} {
		c, err := Dial(t.Context(), fakeBus(t, "OK 1234", answer))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		within(t, what, func(ctx context.Context) error {
			_, err := c.Properties(ctx, "x", "/x")
			return err
		})
		within(t, what+", with a large request", func(ctx context.Context) error {
			_, err := c.Properties(ctx, "x", "/"+strings.Repeat("x", 8<<20))
			return err
		})
	}
}
