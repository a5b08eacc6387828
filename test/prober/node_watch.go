package prober

import (
	"context"
	"time"
)

// nodeInterval is the time from the end of one check of the nodes to the begin of the
// next.
const nodeInterval = time.Second

// nodeWatch watches the condition Ready of all nodes, through the first client that
// gets an answer. While no client gets an answer, the last state counts.
type nodeWatch struct {
	callers  []*apiCaller
	notReady map[string]*span
}

// nodeList is the part of a NodeList that nodeWatch reads.
type nodeList struct {
	Items []struct {
		Metadata struct{ Name string }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
}

func newNodeWatch(target Target) *nodeWatch {
	w := &nodeWatch{notReady: map[string]*span{}}
	for _, c := range target.Clients {
		w.callers = append(w.callers, newAPICaller(target, c))
	}
	return w
}

func (w *nodeWatch) run(stop <-chan struct{}) {
	for {
		w.look()
		if !pause(stop, nodeInterval) {
			for _, s := range w.notReady {
				s.close(time.Now())
			}
			return
		}
	}
}

func (w *nodeWatch) look() {
	var list nodeList
	for _, c := range w.callers {
		err := try(func(ctx context.Context) error { return c.get(ctx, "/api/v1/nodes", &list) })
		if err == nil {
			w.record(list, time.Now())
			return
		}
	}
}

func (w *nodeWatch) record(list nodeList, now time.Time) {
	present := map[string]bool{}
	for _, n := range list.Items {
		present[n.Metadata.Name] = true
		ready := false
		for _, c := range n.Status.Conditions {
			ready = ready || c.Type == "Ready" && c.Status == "True"
		}
		s := w.notReady[n.Metadata.Name]
		switch {
		case s == nil && !ready:
			s = &span{}
			w.notReady[n.Metadata.Name] = s
			s.open(now)
		case s != nil && !ready:
			s.open(now)
		case s != nil:
			s.close(now)
		}
	}
	for name, s := range w.notReady {
		if !present[name] {
			s.close(now)
		}
	}
}
