package prober

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNodeWatch(t *testing.T) {
	w := newNodeWatch(Target{})
	now := time.Now()
	for second, states := range []string{"n1=True n2=True", "n1=False n2=True", "n1=Unknown n2=False", "n1=True n2=False", "n1=True", "n1=True n2=True"} {
		var items []string
		for _, pair := range strings.Fields(states) {
			name, status, _ := strings.Cut(pair, "=")
			items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":%q}]}}`, name, status))
		}
		var list nodeList
		if err := json.Unmarshal([]byte(`{"items":[`+strings.Join(items, ",")+`]}`), &list); err != nil {
			t.Fatal(err)
		}
		w.record(list, now.Add(time.Duration(second)*time.Second))
	}
	if diff := cmp.Diff(map[string]float64{"n1": 2, "n2": 2}, seconds(w.notReady)); diff != "" {
		t.Errorf("seconds that nodes were not Ready (-want +got):\n%s", diff)
	}
}
