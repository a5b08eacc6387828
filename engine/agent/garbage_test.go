package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/protocol"
	"deployer/engine/remote"
	"deployer/engine/remote/remotetest"
	"deployer/engine/transport"
)

func controllerHello() protocol.Frame {
	return agenttest.Frame(protocol.Hello, 0, protocol.HelloMessage{Version: protocol.Version})
}

// serveBytes serves a controller that sends the given bytes, and returns the error of
// Serve.
func serveBytes(t testing.TB, root string, in []byte) error {
	t.Helper()
	return Serve(context.Background(), bytes.NewReader(in), io.Discard, testRegistry(), ServeOptions{Root: root})
}

func TestAgentSurvivesGarbage(t *testing.T) {
	whole := agenttest.Script(controllerHello(), agenttest.Segment(1, engine.Segment{}))
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"nothing":              {nil, "hello"},
		"text":                 {[]byte("ls -la\nexit\n and more"), "unknown frame"},
		"another version":      {agenttest.Script(agenttest.Frame(protocol.Hello, 0, protocol.HelloMessage{Version: 99})), "build both again"},
		"no hello":             {agenttest.Script(agenttest.Segment(1, engine.Segment{})), "want hello"},
		"hello of the agent":   {agenttest.Script(controllerHello(), agenttest.Results(1, engine.Result{})), "result is not for the agent"},
		"broken segment":       {agenttest.Script(controllerHello(), protocol.Frame{Type: protocol.Segment, ID: 1, Payload: []byte("{")}), "segment message"},
		"huge frame":           {agenttest.Script(controllerHello(), binary.BigEndian.AppendUint32(nil, 1<<30), []byte{byte(protocol.Segment), 0, 0, 0, 0}), "the limit is"},
		"cut frame":            {whole[:len(whole)-1], "EOF"},
		"segment number twice": {agenttest.Script(controllerHello(), agenttest.Segment(1, waiting(t)), agenttest.Segment(1, waiting(t))), "its id is in use"},
		"strange frames for nothing": {agenttest.Script(controllerHello(), agenttest.Frame(protocol.Cancel, 9, protocol.CancelMessage{Now: true}), agenttest.Frame(protocol.Reply, 9, protocol.ReplyMessage{}),
			protocol.Frame{Type: protocol.BlobChunk, ID: 9, Payload: []byte("x")}, agenttest.Frame(protocol.BlobEnd, 9, protocol.EndMessage{}),
			agenttest.Frame(protocol.Bye, 0, protocol.EndMessage{})), "<nil>"},
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
	return engine.Segment{Run: "r", Steps: []engine.Step{agenttest.Step(t, "a", "odd", agenttest.Odd{Do: "wait", For: 50 * time.Millisecond, Text: "/f"})}}
}

func FuzzServe(f *testing.F) {
	f.Add(agenttest.Script(controllerHello(), agenttest.Segment(1, engine.Segment{Run: "r", Steps: []engine.Step{{ID: "a", Module: "write", Args: json.RawMessage(`{"Path":"/f"}`)}}})))
	f.Add(agenttest.Script(controllerHello(), agenttest.Frame(protocol.Journal, 1, protocol.JournalMessage{Run: "r"}), agenttest.Frame(protocol.Cancel, 1, protocol.CancelMessage{})))
	f.Add(agenttest.Script(controllerHello(), protocol.Frame{Type: protocol.BlobChunk, ID: 1, Payload: []byte("x")}))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("odd")) {
			return // the module odd can be asked to wait
		}
		_ = serveBytes(t, root, in)
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

// TestCutAtAnyByte cuts the connection at any byte, in either direction: the session
// ends with a loss, the agent ends, and a new connection that sends the same segment
// finishes the work, with every step applied once.
func TestCutAtAnyByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		root := t.TempDir()
		seg := engine.Segment{Run: "r1"}
		for i := range 5 {
			seg.Steps = append(seg.Steps, agenttest.Step(t, fmt.Sprint(i), "append", appendOnce{fmt.Sprintf("/f%d", i)}))
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
	s, err := remotetest.Attach(t.Context(), mine, remote.Options{Host: "m1"})
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
