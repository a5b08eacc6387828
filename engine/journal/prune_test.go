package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSurplus(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	back := func(d time.Duration) time.Time { return now.Add(-d) }
	many := []aged{}
	for i := range KeptRuns + 2 {
		many = append(many, aged{fmt.Sprint(i), back(time.Duration(i) * time.Minute), 1})
	}
	for name, c := range map[string]struct {
		all  []aged
		want []string
	}{
		"one journal too old":                      {[]aged{{"a", back(time.Hour), 1}, {"b", back(KeptFor + 1), 1}}, []string{"b"}},
		"the newest, however old":                  {[]aged{{"a", back(2 * KeptFor), 1}}, nil},
		"too many journals":                        {many, []string{"200", "201"}},
		"one journal too large, the next one fits": {[]aged{{"a", back(1), 1}, {"b", back(2), KeptBytes}, {"c", back(3), 1}}, []string{"b"}},
	} {
		var got []string
		for _, l := range runsToPrune(c.all, now) {
			got = append(got, l.path)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestPruneSparesLiveRuns: a run in progress keeps its log, however old its last line
// is.
func TestPruneSparesLiveRuns(t *testing.T) {
	dir := t.TempDir()
	live, dead := create(t, dir, "live"), create(t, dir, "dead")
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * KeptFor)
	for _, run := range []string{"live", "dead"} {
		if err := os.Chtimes(Path(dir, run), old, old); err != nil {
			t.Fatal(err)
		}
	}
	newest := create(t, dir, "newest") // prunes
	defer newest.Close()
	defer live.Close()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{Path(dir, "live"), Path(dir, "newest")}, names); diff != "" {
		t.Error(diff)
	}
}
