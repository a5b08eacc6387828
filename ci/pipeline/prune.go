package pipeline

import (
	"os"
	"path/filepath"
)

// prune removes checkouts and plans that no cluster needs any more.
func (p *Pipeline) prune(targets []*target) {
	needed := map[string]bool{p.commit: true}
	for _, t := range targets {
		needed[t.state.LastVerified()] = true
		if d := t.state.Deploying; d != nil {
			needed[d.From], needed[d.To] = true, true
		}
	}
	for _, dir := range []string{"checkouts", "plans"} {
		entries, err := os.ReadDir(filepath.Join(p.State, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !needed[e.Name()] {
				_ = os.RemoveAll(filepath.Join(p.State, dir, e.Name()))
			}
		}
	}
}
