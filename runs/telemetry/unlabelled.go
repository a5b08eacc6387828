package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// unlabelled removes the label playbook: a Pushgateway adds those of the group and refuses
// metrics that have them.
type unlabelled struct{ prometheus.Gatherer }

// Gather implements prometheus.Gatherer.
func (g unlabelled) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Gatherer.Gather()
	for _, f := range families {
		for _, m := range f.Metric {
			m.Label = slices.DeleteFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == "playbook" })
		}
	}
	return families, err
}
