package lock

import (
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
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
		"younger run releases its locks":                                 {older, 0, time.Minute, Release},
		"older run keeps its locks":                                      {younger, 0, time.Minute, Wait},
		"no wait allowed, within the grace period":                       {younger, 0, 0, Wait},
		"no wait allowed":                                                {younger, Grace, 0, Refuse},
		"waited for the maximum time":                                    {older, time.Minute, time.Minute, Refuse},
		"waited for less than the maximum time":                          {older, Grace, time.Minute, Release},
		"holder is draining":                                             {leaving, time.Hour, 0, Wait},
		"holder is an earlier connection of the same run":                {mine, time.Hour, 0, Wait},
		"holder drains longer than the limit":                            {leaving, DrainingLimit, 0, Refuse},
		"earlier connection of the same run stays longer than the limit": {mine, DrainingLimit, 0, Refuse},
		"equal start times":                                              {twin, 0, 0, Release},
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
