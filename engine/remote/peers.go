package remote

import (
	"context"

	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

// Peers plans which host receives a blob from which other host; see package tracker.
type Peers interface {
	// Attach begins a session with a host.
	Attach(host string) Member
}

// Member is one session with a host, as Peers sees it. Its methods may be called concurrently.
type Member interface {
	// Request returns the first plan for a blob and the channel of later ones; ok is false
	// when the controller sends the blob. Request may take seconds for the first host.
	Request(ctx context.Context, digest string) (first protocol.PlanMessage, later <-chan protocol.PlanMessage, ok bool)
	// Report handles a report of the host about a blob that it has requested.
	Report(digest string, r protocol.PlanReport)
	// Stop ends the plan of a blob. A host that has the blob may still be a source of it.
	Stop(digest string)
	// Leave ends the session.
	Leave()
}

// plan answers a request for a blob with plans, until the host ends it, and returns false when
// the controller should send the blob.
func (s *Session) plan(ctx context.Context, id uint32, digest string) (planned bool, err error) {
	if s.member == nil || s.opts.Blobs == nil || !s.namesBlob(digest) {
		return false, nil
	}
	m, later, ok := s.member.Request(ctx, digest)
	if !ok {
		return false, nil
	}
	defer s.member.Stop(digest)
	for {
		if err := s.conn.SendJSON(protocol.BlobPlan, id, m); err != nil {
			return true, err
		}
		select {
		case m = <-later:
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
}

// planReport handles a report about a blob with a plan.
func (s *Session) planReport(f protocol.Frame) error {
	var r protocol.PlanReport
	if err := f.Decode(&r); err != nil {
		return err
	}
	s.mu.Lock()
	u := s.uploads[f.ID]
	s.mu.Unlock()
	if u == nil || s.member == nil {
		return nil // the plan has ended meanwhile
	}
	r.Text = sanitize.Line(r.Text)
	s.member.Report(u.digest, r)
	return nil
}
