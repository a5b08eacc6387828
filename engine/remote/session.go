package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
	"deployer/engine/transport"
)

// Session is the controller's end of a session with an agent. Its methods may be
// called concurrently.
type Session struct {
	opts  Options
	conn  *protocol.Conn
	hooks transportHooks
	facts engine.Facts
	pid   int // of the agent on its host

	ctx  context.Context // ends when the session ends
	stop context.CancelCauseFunc
	idle sync.WaitGroup // goroutines of the session

	member Member // of Options.Peers; nil without it

	results, texts budget // memory for messages that Run has not delivered

	mu              sync.Mutex
	closing         bool
	nextID          uint32
	segments        map[uint32]*segment
	uploads         map[uint32]*upload
	pages           pendingRequests[protocol.JournalMessage]
	locks           pendingRequests[protocol.LockMessage]
	records         pendingRequests[protocol.RecordMessage]
	activeCalls     int // number of calls being answered
	pendingHandlers []string
}

// errClosed is the cause of a session that Close has ended.
var errClosed = errors.New("the session is closed")

// end ends the session and everything that waits in it; only the first cause counts.
func (s *Session) end(err error) {
	if s.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	closing := s.closing
	s.mu.Unlock()
	switch {
	case closing:
		err = errClosed
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = s.hooks.explainEnd()
	}
	var known *transport.Error
	if !errors.As(err, &known) {
		known = &transport.Error{Host: s.opts.Host, Stage: transport.StageRun, Kind: transport.Lost, Err: err}
		var wrong *protocol.Error
		if errors.As(err, &wrong) {
			known.Kind = transport.Protocol // the next agent would behave in the same way
		}
	}
	s.stop(known)
	if s.member != nil {
		s.member.Leave()
	}
	_ = s.hooks.close()
}

// receive handles messages until the streams end, and returns the cause.
func (s *Session) receive() error {
	for {
		f, err := s.conn.Receive()
		if err == nil {
			err = s.handle(f)
			s.conn.Recycle(f.Payload) // decoding has copied what is kept
		}
		if err != nil {
			return err
		}
	}
}

// handle dispatches one message.
func (s *Session) handle(f protocol.Frame) error {
	switch f.Type {
	case protocol.Heartbeat:
		return nil
	case protocol.StepStart, protocol.Progress, protocol.Result, protocol.SegmentEnd:
		return s.segmentFrame(f)
	case protocol.Call:
		return s.handleCall(f)
	case protocol.BlobRequest, protocol.BlobGrant, protocol.BlobStop:
		return s.blobFrame(f)
	case protocol.BlobReport:
		return s.planReport(f)
	case protocol.JournalPage:
		return s.handleJournalPage(f)
	case protocol.Locked:
		return s.handleLocked(f)
	case protocol.RecordReply:
		return s.handleRecordReply(f)
	case protocol.Bye:
		return byeError(f)
	}
	return &protocol.Error{Reason: fmt.Sprintf("%v is not for the controller", f.Type)}
}

// Facts returns the facts that the host reported when the session began.
func (s *Session) Facts() engine.Facts { return s.facts }

// PendingHandlers returns the handlers that earlier runs notified on the host and
// that have not run since, by the names in engine.Step.Notifies. A granted run lock
// brings them up to date.
func (s *Session) PendingHandlers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pendingHandlers
}

// Lost returns a channel that is closed when the session has ended.
func (s *Session) Lost() <-chan struct{} { return s.ctx.Done() }

// Err returns why the session has ended, a *transport.Error; nil while it is open.
func (s *Session) Err() error { return context.Cause(s.ctx) }

// Dial connects to an address as the host sees it.
func (s *Session) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return s.hooks.dial(ctx, network, address)
}

// byeDelay bounds how long Close waits for the good-bye to be sent.
const byeDelay = 2 * time.Second

// Close sends a good-bye and ends the session; the agent finishes and journals the
// step in flight and exits. Close returns when all goroutines of the session have
// ended, with a nil error.
func (s *Session) Close() error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if first && s.ctx.Err() == nil {
		// On a hung network the good-bye would block Close.
		sent := make(chan struct{})
		go func() {
			_ = s.conn.SendJSON(protocol.Bye, 0, protocol.EndMessage{})
			close(sent)
		}()
		select {
		case <-sent:
		case <-time.After(byeDelay):
		}
		s.end(errClosed)
	}
	s.idle.Wait()
	return nil
}

// announce emits host.up.
func (s *Session) announce(text string) {
	s.emit(engine.Event{Type: engine.EventHostUp, Text: sanitize.Line(text)})
}

func (s *Session) emit(e engine.Event) {
	e.Time, e.Host = time.Now(), s.opts.Host
	s.opts.Sink.Emit(e)
}
