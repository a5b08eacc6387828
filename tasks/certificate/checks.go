package certificate

import (
	"cmp"
	"context"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// Checks checks that certificates are as wanted and valid for long enough. A problem
// is a row of the output, not a failure.
type Checks struct {
	Certificates []Want        `yaml:"certificates" doc:"certificates to compare with what is wanted, as for the task certificate"`
	Paths        []string      `yaml:"paths" rule:"path" doc:"certificates of which only the dates matter, such as those of authorities"`
	RenewBefore  time.Duration `yaml:"renew_before" range:"0s.." doc:"minimum remaining lifetime of a certificate; default 720h (30 days)"`
}

var _ engine.Module = (*Checks)(nil)

// Check reads the certificates. The output has a row for each under "checks", and what
// the certificates say under "certificates".
func (c *Checks) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	wants, err := (&Certificates{Certificates: c.Certificates, RenewBefore: c.RenewBefore}).wants()
	if err != nil {
		return engine.Change{}, err
	}
	now := time.Now()
	var found []finding
	for _, w := range wants {
		found = append(found, w.find(sys, now)...)
	}
	for _, path := range c.Paths {
		found = append(found, findAuthorities(sys, path, cmp.Or(c.RenewBefore, defaultRenewBefore), now)...)
	}
	rows, list := []checkresult.Row{}, []any{}
	for _, f := range found {
		rows = append(rows, f.row())
		list = append(list, f.output())
	}
	out := checkresult.Output(rows)
	out["certificates"] = list
	return engine.NoChange(out), nil
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
