package figures

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// unmeasured stands for a figure that no test has recorded.
const unmeasured = "-"

// Summary returns the closing line of the records of a file: the sums of scenarios, packets and conformance
// tests, the maximum of the failover and of the time on a dead master, and the minimum of the life of an idle
// watch.
func Summary(name string, records io.Reader) (string, error) {
	values := map[string][]float64{}
	lines := bufio.NewScanner(records)
	for n := 1; lines.Scan(); n++ {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return "", fmt.Errorf("line %d of the figures: %w", n, err)
		}
		values[r.Figure] = append(values[r.Figure], r.Value)
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("reading the figures: %w", err)
	}
	add := func(a, b float64) float64 { return a + b }
	out := []string{name,
		fmt.Sprintf("scenarios=%d", len(values[scenarioBegun])), fmt.Sprintf("passed=%d", len(values[scenarioPass])),
		field(values, Pings, add, 0), field(values, Lost, add, 0),
		field(values, VIPFailover, math.Max, 2), field(values, DeadMaster, math.Max, 1), field(values, IdleWatch, math.Min, 0),
		field(values, Conformance, add, 0), field(values, NonConforming, add, 0),
	}
	return strings.Join(out, " "), nil
}

// field returns a figure of the line, with a number of decimals.
func field(values map[string][]float64, figure string, combine func(a, b float64) float64, decimals int) string {
	all := values[figure]
	if len(all) == 0 {
		return figure + "=" + unmeasured
	}
	result := all[0]
	for _, v := range all[1:] {
		result = combine(result, v)
	}
	return figure + "=" + strconv.FormatFloat(result, 'f', decimals, 64)
}
