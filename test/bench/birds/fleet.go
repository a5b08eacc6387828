package main

import (
	"context"
	"os"
	"path/filepath"
)

// fleet are the BIRDs of a cluster's nodes.
type fleet struct {
	program, libraries string
	dir                string
	net                *network
	speakers           []*speaker
	running            int // number of started speakers
}

// configure writes the configurations of a site's nodes, and adds speakers for new ones, which do not run
// yet. It returns those that run and whose configuration has changed.
func (f *fleet) configure(ctx context.Context, s *site) ([]*speaker, error) {
	passwords := filepath.Join(f.dir, "password.conf")
	if err := os.WriteFile(passwords, []byte("password \"benchmark\";\n"), 0o600); err != nil {
		return nil, err
	}
	index := map[string]int{}
	for i, name := range s.cluster.NodeNames {
		index[name] = i
	}
	var changed []*speaker
	for i, name := range s.cluster.NodeNames {
		if i == len(f.speakers) {
			base := filepath.Join(f.dir, name)
			f.speakers = append(f.speakers, &speaker{name: name, conf: base + ".conf", socket: base + ".ctl"})
		}
		text, err := s.conf(name, passwords)
		if err != nil {
			return nil, err
		}
		different, err := f.speakers[i].write(text)
		if err != nil {
			return nil, err
		}
		if !different {
			continue
		}
		if i < f.running {
			changed = append(changed, f.speakers[i])
		}
		var peers []int
		for _, p := range s.cluster.Nodes[name].BGP.Peers {
			peers = append(peers, index[p.Name])
		}
		if err := f.net.introduce(ctx, i, peers); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// startNew starts the speakers that do not run.
func (f *fleet) startNew() error {
	for ; f.running < len(f.speakers); f.running++ {
		if err := f.speakers[f.running].start(f.program, f.libraries, f.net.nodes[f.running]); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all speakers.
func (f *fleet) stop() {
	for _, s := range f.speakers {
		if s.cmd != nil && s.cmd.Process != nil {
			_ = s.cmd.Process.Kill()
		}
	}
	for _, s := range f.speakers {
		s.stop()
	}
}

// sessions returns the number of established sessions; each one has two ends.
func (f *fleet) sessions(ctx context.Context) (int, error) {
	ends := 0
	for _, s := range f.speakers {
		n, err := s.established(ctx)
		if err != nil {
			return 0, err
		}
		ends += n
	}
	return ends / 2, nil
}
