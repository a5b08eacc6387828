package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/agent/statedir"
	"deployer/engine/agent/undo"
	"deployer/engine/facts"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// DefaultStateDir is the state directory of an agent that runs as root.
const DefaultStateDir = "/var/lib/deployer"

// ServeOptions describe the host that an agent serves.
type ServeOptions struct {
	// Root is the directory that stands for /, without a slash at its end; empty on
	// real hosts.
	Root string
	// StateDir is a path on the host, below Root; DefaultStateDir when empty.
	StateDir string
	// Facts returns the facts that the host reports; facts.Read(Root) when nil.
	Facts func() engine.Facts
	// Command runs a program for a module; on this machine when nil.
	Command func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error)
	// WakeAt has the host remove expired secrets at a time, when no controller may come; nil
	// on hosts that cannot.
	WakeAt func(time.Time) error
}

// Serve serves one controller until it says good-bye or is lost, and returns when
// the steps in flight have ended: nil after a good-bye. Serve does not close in or
// out; the caller must, if the process continues, as a read may still be blocked.
//
// When ctx ends, steps in flight are cancelled.
func Serve(ctx context.Context, in io.Reader, out io.Writer, registry engine.Registry, opts ServeOptions) error {
	if opts.StateDir == "" {
		opts.StateDir = DefaultStateDir
	}
	if opts.Facts == nil {
		opts.Facts = func() engine.Facts { return facts.Read(opts.Root) }
	}
	if opts.Command == nil {
		opts.Command = RunCommand
	}
	gone := make(chan struct{})
	s := &server{
		opts: opts, registry: registry, gone: gone,
		conn: protocol.NewConn(in, newAbandonableWriter(out, gone), protocol.AgentEnd), segments: map[uint32]*runningSegment{}, calls: map[uint32]chan protocol.ReplyMessage{},
		blobs: map[uint32]*download{}, fetching: map[string]chan struct{}{},
	}
	s.openState()
	return s.serve(ctx)
}

// openState opens the state directory and what it holds.
func (s *server) openState() {
	s.state = statedir.Open(s.path(s.opts.StateDir))
	s.backups = undo.Open(s.state, s.registry, s.path("/"))
	s.runLock = s.state.RunLock()
}

// server is the host's end of one session.
type server struct {
	opts     ServeOptions
	registry engine.Registry
	conn     *protocol.Conn
	state    *statedir.Dir
	backups  *undo.Store
	runLock  *statedir.RunLock
	dryRun   dryRunState // of the checks of this session

	deferredLock sync.Mutex // held while deferred work runs

	mark string // of this session; see statedir.Dir.MarkSession

	gone  chan struct{} // closed when the controller is gone
	steps sync.WaitGroup

	mu       sync.Mutex
	cause    error // why the controller is gone
	segments map[uint32]*runningSegment
	nextID   uint32
	calls    map[uint32]chan protocol.ReplyMessage
	blobs    map[uint32]*download
	fetching map[string]chan struct{} // by digest; closed when that download has ended
	ifLost   *unattendedRestore       // nil for none
	peers    peers
}

// errGoodbye is the cause of an orderly end of the session.
var errGoodbye = errors.New("the controller has ended the session")

// serve does the handshake, starts the goroutines of the session, and waits for its
// end.
func (s *server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hello, err := s.handshakeWithTimeout(ctx)
	if err != nil {
		s.leave(err)
		return err
	}
	s.mark, _ = s.state.MarkSession() // without a mark the host does not restore itself
	s.steps.Go(func() { _ = expireSecrets(s.state, s.backups) })
	go func() {
		interval, idle := heartbeatOf(hello)
		if err := s.conn.RunHeartbeat(ctx, interval, idle); err != nil {
			s.leave(err)
		}
	}()
	go func() { s.leave(s.receive(ctx)) }()
	select {
	case <-s.gone:
	case <-ctx.Done():
		s.leave(context.Cause(ctx))
	}
	s.steps.Wait()
	s.leavePeers()
	s.restoreUnattended(ctx)
	_ = wake(s.state, s.backups, s.opts.WakeAt) // the next session removes what has expired as well
	s.state.Close()
	s.backups.Close()
	s.runLock.Release()
	if errors.Is(s.cause, errGoodbye) {
		return nil
	}
	return s.cause
}

// leave marks the controller as gone: no new step begins, and every wait for an
// answer of the controller fails. Only the first cause counts.
func (s *server) leave(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return
	}
	if errors.Is(cause, io.EOF) {
		cause = errors.New("the controller has closed the connection")
	}
	s.cause = cause
	close(s.gone)
	s.runLock.MarkDraining()
	for _, b := range s.blobs {
		b.end(s.lostError())
	}
}

// lostError is the error of steps that need the controller after it is gone.
func (s *server) lostError() error {
	return fmt.Errorf("the connection to the controller was lost: %w", s.cause)
}

// receive handles messages until the session ends, and returns the cause.
func (s *server) receive(ctx context.Context) error {
	for {
		f, err := s.conn.Receive()
		if err == nil {
			err = s.handle(ctx, f)
		}
		if err != nil {
			var wrong *protocol.Error
			if errors.As(err, &wrong) {
				_ = s.conn.SendJSON(protocol.Bye, 0, protocol.EndMessage{Error: sanitize.CutStart(err.Error(), maxText)})
			}
			return err
		}
	}
}

// handle dispatches one message.
func (s *server) handle(ctx context.Context, f protocol.Frame) error {
	switch f.Type {
	case protocol.Heartbeat:
		return nil
	case protocol.Segment:
		return s.begin(ctx, f)
	case protocol.Cancel:
		return s.cancel(f)
	case protocol.Reply:
		return s.handleReply(f)
	case protocol.BlobChunk, protocol.BlobEnd, protocol.BlobPlan:
		return s.blobFrame(f)
	case protocol.Journal:
		return s.sendJournal(f)
	case protocol.Lock:
		return s.lockFrame(f)
	case protocol.Record:
		return s.handleRecord(f)
	case protocol.Bye:
		return errGoodbye
	}
	return &protocol.Error{Reason: fmt.Sprintf("%v is not for the agent", f.Type)}
}
