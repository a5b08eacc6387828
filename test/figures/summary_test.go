package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	t.Setenv(Variable, path)
	t.Run("a scenario", func(t *testing.T) {
		Scenario(t)
		Record(Pings, 1000)
		Record(Lost, 0)
	})
	t.Run("another", func(t *testing.T) {
		Scenario(t)
		Record(Pings, 234)
		Record(Lost, 1)
		Record(VIPFailover, 3.1)
		Record(VIPFailover, 2.456)
		Record(IdleWatch, 30.2)
		Record(IdleWatch, 29.6)
		Record(Conformance, 47)
		Record(Conformance, 47)
		Record(NonConforming, 0)
	})
	Record(scenarioBegun, 1) // of a test whose process died
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got, err := Summary("networks", f)
	if want := "networks scenarios=3 passed=2 pings=1234 lost=1 vip_failover_s=3.10 dead_master_s=- idle_watch_s=30 conformance_tests=94 conformance_failed=0"; got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	got, err := Summary("networks", strings.NewReader(""))
	if want := "networks scenarios=0 passed=0 pings=- lost=- vip_failover_s=- dead_master_s=- idle_watch_s=- conformance_tests=- conformance_failed=-"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Summary("networks", strings.NewReader("{}\nbroken\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a damaged file: %v", err)
	}
	t.Setenv(Variable, "")
	Record(Pings, 1)
}
