package peer

import (
	"context"
	"sync"
)

// Node is a host's part in the distribution of one run: its server and its spools. It is safe for
// concurrent use.
type Node struct {
	identity Identity
	dir      *Directory
	server   *Server // nil when it cannot listen

	mu     sync.Mutex
	spools map[string]*Spool // by digest
}

// Join opens the directory of spools and starts the server. A host that cannot listen at its
// address still receives blobs from others; listenErr is the reason.
func Join(identity Identity, directory string) (n *Node, listenErr, err error) {
	dir, err := OpenDirectory(directory)
	if err != nil {
		return nil, nil, err
	}
	n = &Node{identity: identity, dir: dir, spools: map[string]*Spool{}}
	n.server, listenErr = Listen(identity)
	return n, listenErr, nil
}

// Close ends the server and the use of spools. It leaves the files of incomplete spools to the next
// session when keep is true.
func (n *Node) Close(keep bool) {
	if n.server != nil {
		n.server.Close()
	}
	if !keep {
		n.dir.Clear()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.spools {
		_ = s.file.Close()
	}
	n.dir.Close()
}

// Spool returns the spool of a blob, and offers its chunks to peers.
func (n *Node) Spool(m Manifest) (*Spool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.spools[m.Digest]
	if s == nil {
		var err error
		if s, err = n.dir.Open(m); err != nil {
			return nil, err
		}
		n.spools[m.Digest] = s
	}
	if n.server != nil {
		n.server.Share(s)
	}
	return s, nil
}

// Fetch begins a transfer of the missing chunks of a spool. Its goroutine ends when the spool is
// complete, with ctx, or with an error that readers of the spool get.
func (n *Node) Fetch(ctx context.Context, s *Spool, hooks Hooks) *Transfer {
	t := &Transfer{node: n, spool: s, hooks: hooks, plans: make(chan Plan, 1), done: make(chan struct{})}
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	go t.run(ctx)
	return t
}
