package lock

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	t0 := time.Date(2026, 3, 4, 2, 13, 0, 0, time.UTC)
	mine := Holder{Run: "b", Since: t0}
	older := Holder{Run: "a", Since: t0.Add(-time.Minute)}
	younger := Holder{Run: "c", Since: t0.Add(time.Minute)}
	twin := Holder{Run: "a", Since: t0}
	leaving := older
	leaving.Draining = true
	for name, c := range map[string]struct {
		other            Holder
		waited, patience time.Duration
		want             Decision
	}{
		"the younger one waits with nothing":      {older, 0, time.Minute, Release},
		"the older one keeps what it has":         {younger, 0, time.Minute, Wait},
		"told not to wait, a moment all the same": {younger, 0, 0, Wait},
		"told not to wait":                        {younger, Grace, 0, Refuse},
		"waited enough":                           {older, time.Minute, time.Minute, Refuse},
		"not enough yet":                          {older, Grace, time.Minute, Release},
		"a step in flight of a lost controller":   {leaving, time.Hour, 0, Wait},
		"an earlier connection of its own":        {mine, time.Hour, 0, Wait},
		"leaving for ever":                        {leaving, DrainingLimit, 0, Refuse},
		"a connection of its own that stays":      {mine, DrainingLimit, 0, Refuse},
		"begun at the same moment":                {twin, 0, 0, Release},
	} {
		if got := Decide(mine, c.other, c.waited, c.patience); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if Decide(mine, twin, 0, 0) == Decide(twin, mine, 0, 0) {
		t.Error("two runs that began at the same moment both yield or both wait")
	}
}

func TestHeldNamesTheHolder(t *testing.T) {
	err := &Held{Host: "m1", By: Holder{Run: "r7", Verb: "install", By: "ann@ci", PID: 12, Since: time.Date(2026, 3, 4, 2, 13, 0, 0, time.UTC)}}
	want := "run r7 (install) by ann@ci holds the lock on m1 since 2026-03-04 02:13:00 UTC, as process 12 there"
	if got := err.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&Held{Host: "m1"}).Error(); got != "another run holds the lock on m1" {
		t.Error(got)
	}
}
