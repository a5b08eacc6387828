package history

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRunsOfTheFuture checks that a host cannot hide the runs of others behind runs that it has
// made up, with ids that are newer than all others.
func TestRunsOfTheFuture(t *testing.T) {
	made := map[string][]byte{}
	for i := range 500 {
		run := fmt.Sprintf("20991231-%06d.000", i)
		made[run] = keep(t, run, 1, true)
	}
	h := fetch(t, "", map[string]*host{"m1": {records: made}, "m2": {records: map[string][]byte{"20261127-010203.000": keep(t, "20261127-010203.000", 3, true)}}})
	all, err := h.List()
	if err != nil || len(all) != maxRunsOfHost+1 {
		t.Errorf("%d runs, %v", len(all), err)
	}
	if _, err := h.Find("20261127"); err != nil {
		t.Error(err)
	}
}

// TestBudgetOfAHost checks that a host which has used up its text, its memory or its time is
// named, and that the copy of another host is read all the same.
func TestBudgetOfAHost(t *testing.T) {
	data := keep(t, "r1", 100, true)
	newHistory := func() *History {
		h := fetch(t, "", map[string]*host{"m1": {}})
		h.Failed = map[string]error{}
		return h
	}
	newKeeper := func(name string, left budget, time time.Duration) *keeper {
		return &keeper{host: name, session: &host{records: map[string][]byte{"r1": data}}, sizes: map[string]int64{"r1": int64(len(data))}, left: left, time: time}
	}
	plenty := budget{1 << 20, 1 << 20}
	for want, hostile := range map[string]*keeper{
		"more text than is read":     newKeeper("bad", budget{100, 1 << 20}, time.Minute),
		"more memory than they may":  newKeeper("bad", budget{1 << 20, 100}, time.Minute),
		"took more than 5m0s in all": newKeeper("bad", plenty, 0),
		"sending the record took":    {host: "bad", session: stalled{}, sizes: map[string]int64{"r1": int64(len(data)) + 1}, left: plenty, time: 50 * time.Millisecond},
		"the record does not begin":  {host: "bad", session: &host{records: map[string][]byte{"r1": {1}}}, sizes: map[string]int64{"r1": int64(len(data)) + 1}, left: plenty, time: time.Minute},
	} {
		for _, whole := range []bool{false, true} {
			h, k := newHistory(), *hostile
			e := h.fetch(t.Context(), "r1", []*keeper{&k, newKeeper("good", plenty, time.Minute)}, whole)
			if failed := h.Failed["bad"]; failed == nil || !strings.Contains(failed.Error(), want) {
				t.Errorf("whole %t, want %q: %v", whole, want, failed)
			}
			if e == nil || e.Record == nil || e.Report == nil {
				t.Errorf("whole %t, %s: the good copy was not read: %+v", whole, want, e)
			}
		}
	}
	h := newHistory()
	h.left.text = 100
	if e := h.fetch(t.Context(), "r1", []*keeper{newKeeper("good", plenty, time.Minute)}, false); e != nil || h.Failed["good"] == nil {
		t.Errorf("the text of all hosts is used up: %+v, %v", e, h.Failed)
	}
}

// stalled is a session that sends nothing.
type stalled struct{ *host }

func (stalled) ReadRecord(ctx context.Context, _ string, _ int64) ([]byte, int64, error) {
	<-ctx.Done()
	return nil, 0, context.Cause(ctx)
}

// TestManyCopies checks that no more copies of a run are read whole than a cluster has masters.
func TestManyCopies(t *testing.T) {
	data, h := keep(t, "r1", 3, true), fetch(t, "", map[string]*host{"m1": {}})
	reads := 0
	var keepers []*keeper
	for i := range 50 {
		keepers = append(keepers, &keeper{host: fmt.Sprint("m", i), session: counted{&host{records: map[string][]byte{"r1": data}}, &reads}, sizes: map[string]int64{"r1": int64(len(data))},
			left: budget{1 << 20, 1 << 20}, time: time.Minute})
	}
	if e := h.fetch(t.Context(), "r1", keepers, true); e == nil || len(e.Keepers) != 50 || reads != 2*maxCopies {
		t.Errorf("%+v after %d reads", e, reads)
	}
}

// counted counts the parts that are read.
type counted struct {
	*host
	reads *int
}

func (c counted) ReadRecord(ctx context.Context, run string, offset int64) ([]byte, int64, error) {
	*c.reads++
	return c.host.ReadRecord(ctx, run, offset)
}
