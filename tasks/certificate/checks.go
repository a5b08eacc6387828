package certificate

import (
	"cmp"
	"context"
	"os"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// Checks checks that certificates are as wanted and valid for long enough. A problem
// is a row of the output, not a failure.
type Checks struct {
	Certificates []Want        `yaml:"certificates" doc:"certificates to compare with what is wanted, as for the task certificate"`
	Paths        []string      `yaml:"paths" doc:"certificates of which only the dates matter, such as those of authorities"`
	RenewBefore  time.Duration `yaml:"renew_before" doc:"minimum remaining lifetime of a certificate; default 720h (30 days)"`
}

var _ engine.Module = (*Checks)(nil)

// Check reads the certificates; the output has a row for each.
func (c *Checks) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	wants, err := (&Certificates{Certificates: c.Certificates, RenewBefore: c.RenewBefore}).wants()
	if err != nil {
		return engine.Change{}, err
	}
	var rows []checkresult.Row
	for _, w := range wants {
		rows = append(rows, w.check(sys).Named("certificate "+w.CertPath))
	}
	for _, path := range c.Paths {
		rows = append(rows, c.checkDates(sys, path).Named("certificate "+path))
	}
	return engine.NoChange(checkresult.Output(rows)), nil
}

const renewFix = "run deployer install: it renews what is due"

func (w Want) check(sys engine.System) checkresult.Row {
	s, err := look(sys, w, time.Now())
	switch {
	case err != nil:
		return checkresult.Problem("", "%v", err)
	case s.noKey != "":
		return checkresult.Problem(renewFix, "key %s: %s", w.KeyPath, s.noKey)
	case s.stale != "":
		return checkresult.Problem(renewFix, "%s", s.stale)
	case len(s.access) > 0:
		return checkresult.Problem(renewFix, "needs to %s on %s", s.access[0].action, s.access[0].path)
	}
	return validUntil(sys, w.CertPath)
}

func (c *Checks) checkDates(sys engine.System, path string) checkresult.Row {
	data, err := os.ReadFile(sys.Path(path))
	if err != nil {
		return checkresult.Problem("", "%v", err)
	}
	certs, err := parseCertificates(data)
	if err != nil {
		return checkresult.Problem("", "it cannot be read: %v", err)
	}
	left := time.Until(certs[0].NotAfter)
	if left < cmp.Or(c.RenewBefore, defaultRenewBefore) {
		return checkresult.Problem("", "it expires on %s", day(certs[0].NotAfter))
	}
	return validUntil(sys, path)
}

func validUntil(sys engine.System, path string) checkresult.Row {
	data, err := os.ReadFile(sys.Path(path))
	if err != nil {
		return checkresult.Problem("", "%v", err)
	}
	certs, err := parseCertificates(data)
	if err != nil {
		return checkresult.Problem("", "it cannot be read: %v", err)
	}
	return checkresult.OK("valid until %s", day(certs[0].NotAfter))
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
