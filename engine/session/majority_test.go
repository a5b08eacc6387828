package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"deployer/engine"
)

// TestMajorityDecidesAboutThePause is a property test: guards are lost, given up and
// connected again in any order. New work waits exactly while half of the guards or
// more are not connected and at least one of them is being connected, and never
// longer than the run.
func TestMajorityDecidesAboutThePause(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		all := 1 + rnd.IntN(5)
		c := &runLock{hasMajority: true, opts: Options{Emit: func(engine.Event) {}, Abort: func(error) {}, Stop: context.Background()}}
		ls := &Connections{lock: c}
		for i := range all {
			c.Guards = append(c.Guards, fmt.Sprint("g", i))
		}
		state := make([]string, all) // "", away or lost
		for range 30 {
			i := rnd.IntN(all)
			l := &Connection{name: c.Guards[i], run: ls}
			switch {
			case state[i] == "":
				state[i] = "away"
				c.setAway(l.name, true)
			case state[i] == "away" && rnd.IntN(3) == 0: // as holdLock does
				state[i] = "lost"
				c.loseGuard(l, errors.New("no route to host"))
				c.setAway(l.name, false)
			case state[i] == "away":
				state[i] = ""
				c.setAway(l.name, false)
			}
			away, connected := 0, 0
			for _, s := range state {
				switch s {
				case "away":
					away++
				case "":
					connected++
				}
			}
			want := away > 0 && 2*connected <= all
			over, stop := context.WithCancelCause(t.Context())
			stop(errors.New("over"))
			if err := ls.AwaitMajority(t.Context(), over); (err != nil) != want {
				t.Fatalf("seed %d, %v: error %v, want a pause: %t", seed, state, err, want)
			}
		}
	}
}
