package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/transport"
	"deployer/engine/wire"
)

func agentHello() wire.Frame {
	return agenttest.Frame(wire.Hello, 0, wire.HelloMessage{Version: wire.Version, Facts: json.RawMessage(`{"os":"x"}`)})
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
		conn := wire.NewConn(agentIn, io.Discard, wire.AgentEnd)
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
		return agenttest.Results(1, engine.Result{Step: step, Status: s})
	}
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"nothing":           {nil, "agent's hello"},
		"text":              {[]byte("bash: no such file or directory\n"), "unknown frame"},
		"another version":   {agenttest.Script(agenttest.Frame(wire.Hello, 0, wire.HelloMessage{Version: 99})), "build both again"},
		"refused":           {agenttest.Script(agenttest.Frame(wire.Bye, 0, wire.EndMessage{Error: "no\x1b[2J"})), "the agent has ended the session: no"},
		"no hello":          {agenttest.Script(agenttest.Results(1, engine.Result{})), "want hello"},
		"broken facts":      {agenttest.Script(agenttest.Frame(wire.Hello, 0, wire.HelloMessage{Version: wire.Version, Facts: json.RawMessage(`[]`)})), "facts"},
		"segment":           {agenttest.Script(agentHello(), agenttest.Segment(1, engine.Segment{})), "segment is not for the controller"},
		"good-bye":          {agenttest.Script(agentHello(), agenttest.Frame(wire.Bye, 0, wire.EndMessage{Error: "disk gone"})), "disk gone"},
		"broken results":    {agenttest.Script(agentHello(), wire.Frame{Type: wire.Result, ID: 1, Payload: []byte{9, 'a'}}), "result message: the message is truncated"},
		"result of no step": {agenttest.Script(agentHello(), result("b", engine.StatusOK)), `unexpected result of step "b"`},
		"result twice":      {agenttest.Script(agentHello(), result("a", engine.StatusOK), result("a", engine.StatusOK)), "unexpected result"},
		"one of two":        {agenttest.Script(agentHello(), agenttest.Results(1, engine.Result{Step: "a", Status: engine.StatusOK}, engine.Result{Step: "b", Status: engine.StatusOK})), "unexpected result"},
		"odd status":        {agenttest.Script(agentHello(), result("a", "fine")), "unknown status"},
		"start of no step":  {agenttest.Script(agentHello(), agenttest.Frame(wire.StepStart, 1, wire.StepMessage{Step: "b"})), "unknown step"},
		"stray frames":      {agenttest.Script(agentHello(), wire.Frame{Type: wire.BlobGrant, ID: 1}, wire.Frame{Type: wire.BlobStop, ID: 1}, agenttest.Frame(wire.JournalPage, 7, wire.JournalMessage{}), agenttest.Frame(wire.SegmentEnd, 7, wire.EndMessage{})), "closed the connection"},
		"end":               {agenttest.Script(agentHello()), "closed the connection"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hello := len(agenttest.Script(agentHello()))
			if !bytes.HasPrefix(tt.in, agenttest.Script(agentHello())) {
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

func FuzzSession(f *testing.F) {
	f.Add(agenttest.Script(agenttest.Results(1, engine.Result{Step: "a", Status: engine.StatusOK}), agenttest.Frame(wire.SegmentEnd, 1, wire.EndMessage{})))
	f.Add(agenttest.Script(agenttest.Frame(wire.Call, 1, wire.CallMessage{Method: "x"}), agenttest.Frame(wire.BlobRequest, 2, wire.BlobMessage{Digest: "x"})))
	f.Fuzz(func(t *testing.T, in []byte) {
		hello := agenttest.Script(agentHello())
		s, err := attachBytes(len(hello), append(hello, in...))
		if err != nil {
			return
		}
		_ = s.Run(t.Context(), engine.Segment{Run: "r", Steps: []engine.Step{{ID: "a"}}}, func(engine.Result) {})
		_ = s.Close()
	})
}
