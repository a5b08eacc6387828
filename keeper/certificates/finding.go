package certificates

import (
	"context"
	"encoding/json"
	"time"

	"deployer/engine"
	"deployer/tasks/certificate"
)

// Finding is a certificate on a host, compared with what it has to be.
type Finding struct {
	Name    string // in the table of certificates; empty for an authority
	Path    string
	State   string // as of module cert_check
	Detail  string // the fault in a sentence
	Expires time.Time
}

// Look reads certificates of a host.
func Look(ctx context.Context, sys engine.System, checks *certificate.Checks) ([]Finding, error) {
	change, err := checks.Check(ctx, sys)
	if err != nil {
		return nil, err
	}
	var found []Finding
	err = Pass(change.Output["certificates"], &found)
	return found, err
}

// Pass copies a value by its JSON form, as between a module and its controller.
func Pass(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}
