package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deployer/engine/transport"
)

// stuckProcess is a probe whose host prints a text, accepts some writes, and then neither
// prints, reads nor exits.
type stuckProcess struct {
	stdout string
	stderr string
	writes int // writes that the host accepts
	closed chan struct{}
}

func (p *stuckProcess) Stdin() io.WriteCloser         { return p }
func (p *stuckProcess) Stdout() io.Reader             { return p }
func (p *stuckProcess) Stderr() string                { return p.stderr }
func (p *stuckProcess) Wait() (transport.Exit, error) { <-p.closed; return transport.Exit{}, io.EOF }
func (p *stuckProcess) Close() error                  { close(p.closed); return nil }
func (p *stuckProcess) Read(into []byte) (int, error) {
	if p.stdout == "" {
		<-p.closed
		return 0, io.EOF
	}
	n := copy(into, p.stdout)
	p.stdout = p.stdout[n:]
	return n, nil
}

func (p *stuckProcess) Write(data []byte) (int, error) {
	if p.writes == 0 {
		<-p.closed
		return 0, io.ErrClosedPipe
	}
	p.writes--
	return len(data), nil
}

// smallProgram is an agent program of three chunks.
type smallProgram struct{}

func (smallProgram) AgentBinary(string) ([]byte, error) {
	return bytes.Repeat([]byte("x"), 3*sendChunk), nil
}
func (p smallProgram) AgentGzip(arch string) ([]byte, error) { return p.AgentBinary(arch) }
func (smallProgram) AgentDigest(string) (string, error)      { return agentName, nil }

// TestHostsThatStopAnswering: the error of a host that makes no progress for the timeout
// says what the controller waited for, and shows the output of the host.
func TestHostsThatStopAnswering(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		process stuckProcess
		become  Become
		text    string
	}{
		"the host prints nothing": {text: "m1: agent: the host did not answer the probe within 30s"},
		"the host does not read the agent": {stuckProcess{stdout: "\nmarker\nuid=0\n\nmarker\nuser=0\nsystem=Linux x86_64\ndir=/d\nagent=missing\n", writes: 2}, NoBecome,
			"m1: agent: the host accepted no more of the agent within 30s"},
		"an unexpected prompt": {stuckProcess{stdout: "\nmarker\nuid=1000\nbecome=sudo\n", stderr: "Token code: "}, Sudo,
			"m1: agent: the host did not answer the probe within 30s: Token code:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &tt.process
				p.closed = make(chan struct{})
				defer p.Close()
				opts := Options{Host: "m1", Binaries: NewBinaries(smallProgram{}), Become: tt.become, Password: "wrong", Timeout: 30 * time.Second}
				c := &connector{opts: opts.withDefaults(), marker: "marker"}
				began := time.Now()
				_, err := c.handshake(t.Context(), newProbe(p, "marker", false))
				var e *transport.Error
				if !errors.As(err, &e) || e.Kind != transport.Timeout || !strings.HasPrefix(err.Error(), tt.text) {
					t.Errorf("got %v, want a timeout with %q", err, tt.text)
				}
				if waited := time.Since(began); waited < opts.Timeout || waited > opts.Timeout+time.Second {
					t.Errorf("the error came after %s", waited)
				}
			})
		})
	}
}
