package conformance

import (
	"errors"
	"fmt"
	"time"

	"deployer/tasks/control/report"
)

// CheckName is the check of the row that sums a run up. Each failed test has a row of its own.
const CheckName = "conformance tests"

// ErrNoTests is the error of a run in which no test was selected.
var ErrNoTests = errors.New("no test is selected")

// ending is how the tests ended.
type ending struct {
	code    int32
	planned int // tests that were to run; 0 while unknown
	elapsed time.Duration
}

// verdict returns the rows of a report: one for each failed test, and a summary. A report without tests
// is an error, because nothing was tested, and one that contradicts the end of the tests is a problem.
func verdict(r *Report, e ending, o Options) ([]report.Row, error) {
	failed := r.Failed()
	if len(r.Tests) == 0 && len(r.Suite) == 0 {
		return nil, fmt.Errorf("%w by --focus %q%s: a name is the whole line of a test, such as [sig-network] DNS should provide DNS for services [Conformance]",
			ErrNoTests, o.Focus, skipText(o.Skip))
	}
	var rows []report.Row
	for _, t := range r.Suite {
		rows = append(rows, report.Bad(t.Name, "", "%s", t.Failure))
	}
	for _, t := range failed {
		rows = append(rows, report.Bad(t.Name, "", "%s", t.Failure))
	}
	const advice = "see e2e.log in the directory of the results"
	took := e.elapsed.Round(time.Second)
	switch passed := len(r.Tests) - len(failed); {
	case len(rows) > 0:
		rows = append(rows, report.Bad(CheckName, "", "%d of %d failed in %s", len(failed), len(r.Tests), took).Advised(advice))
	case e.planned > len(r.Tests):
		rows = append(rows, report.Bad(CheckName, "", "only %d of %d ran, in %s", len(r.Tests), e.planned, took).Advised(advice))
	case e.code != 0:
		rows = append(rows, report.Bad(CheckName, "", "%d passed, but the program of the tests ended with %d", passed, e.code).Advised(advice))
	default:
		rows = append(rows, report.OK(CheckName, "", "%d passed in %s, %d were not selected", passed, took, r.Skipped))
	}
	return rows, nil
}

func skipText(skip string) string {
	if skip == "" {
		return ""
	}
	return fmt.Sprintf(" without --skip %q", skip)
}
