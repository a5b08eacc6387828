package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"deployer/engine/journal"
	"deployer/engine/plan"
)

// storedPlans is the number of stored plans that are kept; older ones are removed.
const storedPlans = 50

// StorePlan writes a plan that the user has not written to a file beside the logs of
// runs, mode 0600, so that a resumed run finds it. StorePlan removes old plans.
func StorePlan(p *plan.Plan) (journal.Plan, error) {
	runs, err := journal.Dir()
	if err != nil {
		return journal.Plan{}, err
	}
	dir := filepath.Join(filepath.Dir(runs), "plans")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return journal.Plan{}, fmt.Errorf("storing the plan: %w", err)
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(p); err != nil {
		return journal.Plan{}, fmt.Errorf("storing the plan: %w", err)
	}
	file := filepath.Join(dir, time.Now().UTC().Format("20060102-150405.000000")+".json")
	if err := renameio.WriteFile(file, text.Bytes(), 0o600); err != nil {
		return journal.Plan{}, fmt.Errorf("storing the plan: %w", err)
	}
	pruneStoredPlans(dir)
	_, from, err := ReadPlan(file)
	return from, err
}

// pruneStoredPlans removes all but the newest stored plans. Names sort by time. A file
// that cannot be removed stays.
func pruneStoredPlans(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	slices.Sort(files)
	for _, old := range files[:max(len(files)-storedPlans, 0)] {
		_ = os.Remove(old)
	}
}
