package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/transport"
	"deployer/engine/wire"
)

// script is what one end sends to the other: frames and raw bytes.
func script(parts ...any) []byte {
	var out bytes.Buffer
	conn := wire.NewConn(strings.NewReader(""), &out)
	for _, p := range parts {
		switch p := p.(type) {
		case wire.Frame:
			if err := conn.Send(p.Type, p.ID, p.Payload); err != nil {
				panic(err)
			}
		case []byte:
			out.Write(p)
		}
	}
	return out.Bytes()
}

func frame(t wire.Type, id uint32, v any) wire.Frame {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return wire.Frame{Type: t, ID: id, Payload: raw}
}

func controllerHello() wire.Frame {
	return frame(wire.Hello, 0, wire.HelloMessage{Version: wire.Version})
}

func agentHello() wire.Frame {
	return frame(wire.Hello, 0, wire.HelloMessage{Version: wire.Version, Facts: json.RawMessage(`{"os":"x"}`)})
}

// serveBytes lets an agent read the given bytes, and returns how it ended.
func serveBytes(t testing.TB, root string, in []byte) error {
	t.Helper()
	return Serve(context.Background(), bytes.NewReader(in), io.Discard, testRegistry(), ServeOptions{Root: root})
}

func TestAgentSurvivesGarbage(t *testing.T) {
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"nothing":              {nil, "hello"},
		"text":                 {[]byte("ls -la\nexit\n and more"), "unknown frame"},
		"another version":      {script(frame(wire.Hello, 0, wire.HelloMessage{Version: 99})), "build both again"},
		"no hello":             {script(frame(wire.Segment, 1, engine.Segment{})), "want hello"},
		"hello of the agent":   {script(controllerHello(), frame(wire.Result, 1, engine.Result{})), "result is not for the agent"},
		"broken JSON":          {script(controllerHello(), wire.Frame{Type: wire.Segment, ID: 1, Payload: []byte("{")}), "segment message"},
		"huge frame":           {script(controllerHello(), binary.BigEndian.AppendUint32(nil, 1<<30), []byte{byte(wire.Segment), 0, 0, 0, 0}), "the limit is"},
		"cut frame":            {script(controllerHello(), frame(wire.Segment, 1, engine.Segment{}))[:60], "EOF"},
		"segment number twice": {script(controllerHello(), frame(wire.Segment, 1, waiting(t)), frame(wire.Segment, 1, waiting(t))), "one too many"},
		"strange frames for nothing": {script(controllerHello(), frame(wire.Cancel, 9, wire.CancelMessage{Now: true}), frame(wire.Reply, 9, wire.ReplyMessage{}),
			wire.Frame{Type: wire.BlobChunk, ID: 9, Payload: []byte("x")}, frame(wire.BlobEnd, 9, wire.EndMessage{}),
			frame(wire.Bye, 0, wire.EndMessage{})), "<nil>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := serveBytes(t, t.TempDir(), tt.in)
			if !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func waiting(t testing.TB) engine.Segment {
	return engine.Segment{Run: "r", Steps: []engine.Step{step(t, "a", "odd", odd{Do: "wait", For: 50 * time.Millisecond, Text: "/f"})}}
}

// twoPipes is one end of a connection whose directions end by themselves.
type twoPipes struct {
	*io.PipeReader
	*io.PipeWriter
}

func (p twoPipes) Close() error {
	return errors.Join(p.PipeReader.Close(), p.PipeWriter.Close())
}

// attachBytes lets a session read the given bytes until it ends: the first n,
// which are the agent's hello, and the rest when a segment has been sent.
func attachBytes(n int, in []byte) (*Session, error) {
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	go func() {
		_, _ = agentOut.Write(in[:n])
		conn := wire.NewConn(agentIn, io.Discard)
		for n > 0 && n < len(in) {
			if f, err := conn.Receive(); err != nil || f.Type == wire.Segment {
				break
			}
		}
		go func() { _, _ = io.Copy(io.Discard, agentIn) }()
		_, _ = agentOut.Write(in[n:])
		_ = agentOut.Close()
	}()
	return Attach(twoPipes{fromAgent, toAgent}, Options{Host: "m1"})
}

func TestSessionSurvivesGarbage(t *testing.T) {
	result := func(step string, s engine.Status) wire.Frame {
		return frame(wire.Result, 1, engine.Result{Step: step, Status: s})
	}
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"nothing":           {nil, "agent's hello"},
		"text":              {[]byte("bash: no such file or directory\n"), "unknown frame"},
		"another version":   {script(frame(wire.Hello, 0, wire.HelloMessage{Version: 99})), "build both again"},
		"refused":           {script(frame(wire.Bye, 0, wire.EndMessage{Error: "no\x1b[2J"})), "the agent has ended the session: no"},
		"no hello":          {script(frame(wire.Result, 1, engine.Result{})), "want hello"},
		"broken facts":      {script(frame(wire.Hello, 0, wire.HelloMessage{Version: wire.Version, Facts: json.RawMessage(`[]`)})), "facts"},
		"segment":           {script(agentHello(), frame(wire.Segment, 1, engine.Segment{})), "segment is not for the controller"},
		"good-bye":          {script(agentHello(), frame(wire.Bye, 0, wire.EndMessage{Error: "disk gone"})), "disk gone"},
		"result of no step": {script(agentHello(), result("b", engine.OK)), `a result too many, of step "b"`},
		"result twice":      {script(agentHello(), result("a", engine.OK), result("a", engine.OK)), "a result too many"},
		"odd status":        {script(agentHello(), result("a", "fine")), "unknown status"},
		"start of no step":  {script(agentHello(), frame(wire.StepStart, 1, wire.StepMessage{Step: "b"})), "unknown step"},
		"stray frames":      {script(agentHello(), wire.Frame{Type: wire.BlobGrant, ID: 1}, wire.Frame{Type: wire.BlobStop, ID: 1}, frame(wire.JournalPage, 7, wire.JournalMessage{}), frame(wire.SegmentEnd, 7, wire.EndMessage{})), "closed the connection"},
		"end":               {script(agentHello()), "closed the connection"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hello := len(script(agentHello()))
			if !bytes.HasPrefix(tt.in, script(agentHello())) {
				hello = len(tt.in)
			}
			s, err := attachBytes(hello, tt.in)
			if err == nil {
				defer s.Close()
				err = s.Run(t.Context(), engine.Segment{Run: "r", Steps: []engine.Step{{ID: "a"}}}, func(engine.Result) {})
			}
			var e *transport.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzServe(f *testing.F) {
	f.Add(script(controllerHello(), frame(wire.Segment, 1, engine.Segment{Run: "r", Steps: []engine.Step{{ID: "a", Module: "write", Args: json.RawMessage(`{"Path":"/f"}`)}}})))
	f.Add(script(controllerHello(), frame(wire.Journal, 1, wire.JournalMessage{Run: "r"}), frame(wire.Cancel, 1, wire.CancelMessage{})))
	f.Add(script(controllerHello(), wire.Frame{Type: wire.BlobChunk, ID: 1, Payload: []byte("x")}))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("odd")) {
			return // that module can be asked to wait
		}
		_ = serveBytes(t, root, in)
	})
}

func FuzzSession(f *testing.F) {
	f.Add(script(frame(wire.Result, 1, engine.Result{Step: "a", Status: engine.OK}), frame(wire.SegmentEnd, 1, wire.EndMessage{})))
	f.Add(script(frame(wire.Call, 1, wire.CallMessage{Method: "x"}), frame(wire.BlobRequest, 2, wire.BlobMessage{Digest: "x"})))
	f.Fuzz(func(t *testing.T, in []byte) {
		hello := script(agentHello())
		s, err := attachBytes(len(hello), append(hello, in...))
		if err != nil {
			return
		}
		_ = s.Run(t.Context(), engine.Segment{Run: "r", Steps: []engine.Step{{ID: "a"}}}, func(engine.Result) {})
		_ = s.Close()
	})
}

// cutter is a connection that ends after some bytes have been read.
type cutter struct {
	net.Conn
	left int
}

func (c *cutter) Read(p []byte) (int, error) {
	if c.left <= 0 {
		_ = c.Close()
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// Wherever the line is cut, in either direction: the session ends with a loss,
// the agent ends, and connecting again and sending the same segment finishes
// the work, every step applied once.
func TestCutAtAnyByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		root := t.TempDir()
		seg := engine.Segment{Run: "r1"}
		for i := range 5 {
			seg.Steps = append(seg.Steps, step(t, fmt.Sprint(i), "append", appendOnce{fmt.Sprintf("/f%d", i)}))
		}
		fromAgent := round%2 == 0
		cut := 1 + random.IntN(3000)
		attempts := 0
		for {
			attempts++
			done, lost := cutRun(t, root, seg, cut, fromAgent)
			if done {
				break
			}
			if !lost || attempts > 50 {
				t.Fatalf("round %d: attempt %d gave up", round, attempts)
			}
			cut += 700 // the next connection lives longer
		}
		for i := range 5 {
			if got, err := os.ReadFile(fmt.Sprintf("%s/f%d", root, i)); string(got) != "x" {
				t.Fatalf("round %d: step %d left %q (%v)", round, i, got, err)
			}
		}
	}
}

func cutRun(t *testing.T, root string, seg engine.Segment, cut int, fromAgent bool) (done, lost bool) {
	t.Helper()
	here, there := net.Pipe()
	mine, theirs := here, there
	if fromAgent {
		mine = &cutter{Conn: here, left: cut}
	} else {
		theirs = &cutter{Conn: there, left: cut}
	}
	served := make(chan struct{})
	go func() {
		_ = Serve(context.Background(), theirs, theirs, testRegistry(), ServeOptions{Root: root})
		_ = there.Close()
		close(served)
	}()
	defer func() {
		_ = here.Close()
		<-served
	}()
	s, err := Attach(mine, Options{Host: "m1"})
	if err != nil {
		return false, transport.KindOf(err) != ""
	}
	defer s.Close()
	n := 0
	err = s.Run(t.Context(), seg, func(r engine.Result) {
		if r.Failure != nil {
			t.Errorf("%+v", r)
		}
		n++
	})
	if err == nil {
		return n == len(seg.Steps), false
	}
	return false, transport.KindOf(err) == transport.Lost
}
