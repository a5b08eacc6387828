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
	"deployer/engine/protocol"
	"deployer/engine/transport"
)

func agentHello() protocol.Frame {
	return agenttest.Frame(protocol.Hello, 0, protocol.HelloMessage{Version: protocol.Version, Facts: json.RawMessage(`{"os":"x"}`)})
}

// twoPipes is one end of a connection whose two directions can end independently.
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
		conn := protocol.NewConn(agentIn, io.Discard, protocol.AgentEnd)
		for n > 0 && n < len(in) {
			if f, err := conn.Receive(); err != nil || f.Type == protocol.Segment {
				break
			}
		}
		go func() { _, _ = io.Copy(io.Discard, agentIn) }()
		_, _ = agentOut.Write(in[n:])
		_ = agentOut.Close()
	}()
	return openOver(twoPipes{fromAgent, toAgent}, Options{Host: "m1"})
}

func TestSessionSurvivesGarbage(t *testing.T) {
	result := func(step string, s engine.Status) protocol.Frame {
		return agenttest.Results(1, engine.Result{Step: step, Status: s})
	}
	tests := map[string]struct {
		in   []byte
		want string
	}{
		"no output":                 {nil, "agent's hello"},
		"text":                      {[]byte("bash: no such file or directory\n"), "unknown frame"},
		"another version":           {agenttest.Script(agenttest.Frame(protocol.Hello, 0, protocol.HelloMessage{Version: 99})), "build both again"},
		"agent refuses the session": {agenttest.Script(agenttest.Frame(protocol.Bye, 0, protocol.EndMessage{Error: "no\x1b[2J"})), "the agent has ended the session: no"},
		"no hello":                  {agenttest.Script(agenttest.Results(1, engine.Result{})), "want hello"},
		"invalid facts":             {agenttest.Script(agenttest.Frame(protocol.Hello, 0, protocol.HelloMessage{Version: protocol.Version, Facts: json.RawMessage(`[]`)})), "facts"},
		"frame of the controller":   {agenttest.Script(agentHello(), agenttest.Segment(1, engine.Segment{})), "segment is not for the controller"},
		"bye with an error":         {agenttest.Script(agentHello(), agenttest.Frame(protocol.Bye, 0, protocol.EndMessage{Error: "disk gone"})), "disk gone"},
		"invalid results":           {agenttest.Script(agentHello(), protocol.Frame{Type: protocol.Result, ID: 1, Payload: []byte{9, 'a'}}), "result message: the message is truncated"},
		"result of an unknown step": {agenttest.Script(agentHello(), result("b", engine.StatusOK)), `unexpected result of step "b"`},
		"duplicate result":          {agenttest.Script(agentHello(), result("a", engine.StatusOK), result("a", engine.StatusOK)), "unexpected result"},
		"one of two results":        {agenttest.Script(agentHello(), agenttest.Results(1, engine.Result{Step: "a", Status: engine.StatusOK}, engine.Result{Step: "b", Status: engine.StatusOK})), "unexpected result"},
		"unknown status":            {agenttest.Script(agentHello(), result("a", "fine")), "unknown status"},
		"start of an unknown step":  {agenttest.Script(agentHello(), agenttest.Frame(protocol.StepStart, 1, protocol.StepMessage{Step: "b"})), "unknown step"},
		"unexpected frames":         {agenttest.Script(agentHello(), protocol.Frame{Type: protocol.BlobGrant, ID: 1}, protocol.Frame{Type: protocol.BlobStop, ID: 1}, agenttest.Frame(protocol.JournalPage, 7, protocol.JournalMessage{}), agenttest.Frame(protocol.SegmentEnd, 7, protocol.EndMessage{})), "closed the connection"},
		"end of stream":             {agenttest.Script(agentHello()), "closed the connection"},
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
	f.Add(agenttest.Script(agenttest.Results(1, engine.Result{Step: "a", Status: engine.StatusOK}), agenttest.Frame(protocol.SegmentEnd, 1, protocol.EndMessage{})))
	f.Add(agenttest.Script(agenttest.Frame(protocol.Call, 1, protocol.CallMessage{Method: "x"}), agenttest.Frame(protocol.BlobRequest, 2, protocol.BlobMessage{Digest: "x"})))
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
