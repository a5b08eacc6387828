package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"deployer/engine/agent/statedir"
	"deployer/engine/protocol"
	"deployer/engine/sanitize"
	"deployer/engine/spread/peer"
)

// peers is the part of a host in the distribution of blobs. It begins with the first plan of
// the controller.
type peers struct {
	once sync.Once
	node *peer.Node // nil when the host cannot take part
	err  error      // why
}

// spoolDir is the directory of blobs that are shared with peers, in the state directory.
const spoolDir = "spread"

// join takes part in the distribution of the run, and tells the controller whether the host
// accepts connections.
func (s *server) join(identity json.RawMessage, report func(protocol.PlanReport)) (*peer.Node, error) {
	s.peers.once.Do(func() {
		var who peer.Identity
		if s.peers.err = json.Unmarshal(identity, &who); s.peers.err != nil {
			return
		}
		var refused error
		if s.peers.err = statedir.MakePrivateDirectory(s.state.Path); s.peers.err != nil {
			return
		}
		s.peers.node, refused, s.peers.err = peer.Join(who, filepath.Join(s.state.Path, spoolDir))
		if s.peers.err != nil {
			return
		}
		listening := refused == nil
		r := protocol.PlanReport{Listening: &listening}
		if refused != nil {
			r.Text = sanitize.CutStart(refused.Error(), maxProgress)
		}
		report(r)
	})
	return s.peers.node, s.peers.err
}

// leavePeers ends the host's part. Spools of a lost session stay for the next one.
func (s *server) leavePeers() {
	s.peers.once.Do(func() {})
	if s.peers.node != nil {
		s.peers.node.Close(!errors.Is(s.cause, errGoodbye))
	}
}

// firstPlan returns the plan that answers the request; ok is false when the controller sends the
// blob.
func (d *download) firstPlan() (plan protocol.PlanMessage, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plan == nil {
		return plan, false
	}
	return *d.plan, true
}

// planFrame handles a plan: the first one is the answer to the request.
func (d *download) planFrame(f protocol.Frame) error {
	var m protocol.PlanMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.later != nil:
		d.later(m)
	case d.plan == nil:
		d.plan = &m
		d.begin()
	default: // the source of the first plan is out of date
		d.plan.Peer, d.plan.Controller = m.Peer, m.Controller
	}
	return nil
}

// follow calls on with the source of the first plan and of all later ones.
func (d *download) follow(on func(protocol.PlanMessage)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	on(*d.plan)
	d.later = on
}

// openFromPeers begins the transfer of a blob from peers. When this host cannot take part, the
// controller sends the blob.
func (s *server) openFromPeers(ctx context.Context, digest string, answer *incomingBlob, first protocol.PlanMessage) (*blobReader, error) {
	report := func(r protocol.PlanReport) { _ = s.conn.SendJSON(protocol.BlobReport, answer.id, r) }
	node, err := s.join(first.Identity, report)
	var spool *peer.Spool
	if err == nil {
		spool, err = node.Spool(peer.Manifest{Digest: digest, Size: first.Size, Sums: first.Sums})
	}
	if err != nil {
		report(protocol.PlanReport{Text: sanitize.CutStart(err.Error(), maxProgress)})
		_ = answer.Close()
		in, err := s.request(ctx, protocol.BlobMessage{Digest: digest, Direct: true})
		if err != nil {
			return nil, err
		}
		return newBlobReader(digest, in)
	}
	ctx, stop := context.WithCancelCause(ctx)
	transfer := node.Fetch(ctx, spool, peer.Hooks{
		Lost:   s.gone,
		Report: func(r peer.Report) { report(planReport(r)) },
		FromController: func(ctx context.Context, offset int64) (io.ReadCloser, error) {
			return s.request(ctx, protocol.BlobMessage{Digest: digest, Direct: true, Offset: offset})
		},
	})
	answer.download.follow(func(m protocol.PlanMessage) {
		p := peer.Plan{Controller: m.Controller}
		if len(m.Peer) > 0 {
			p.Peer = &peer.Peer{}
			if json.Unmarshal(m.Peer, p.Peer) != nil {
				p = peer.Plan{Controller: true}
			}
		}
		transfer.Assign(p)
	})
	return newBlobReader(digest, &sharedBlob{Reader: spool.NewReader(ctx.Done()), close: func() {
		stop(errors.New("the blob was closed"))
		transfer.Wait()    // its last report comes before the end of the plan
		_ = answer.Close() // the controller ends the plan
	}})
}

func planReport(r peer.Report) protocol.PlanReport {
	out := protocol.PlanReport{Have: r.Have, Took: r.Took.Microseconds(), Kept: r.Kept}
	if r.Failed != nil {
		out.Failed, out.Why = r.Failed.Peer, string(r.Failed.Why)
		out.Text = sanitize.CutStart(fmt.Sprint(r.Failed.Err), maxProgress)
	}
	return out
}

// sharedBlob is the zstd form of a blob that arrives from peers.
type sharedBlob struct {
	io.Reader
	close func()
}

// Close implements io.Closer.
func (b *sharedBlob) Close() error {
	b.close()
	return nil
}
