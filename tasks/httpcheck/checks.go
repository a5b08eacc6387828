package httpcheck

import (
	"context"
	"sync"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// Checks sends one request to each of several addresses. A failed request is part of the
// output, not an error.
type Checks struct {
	Checks []Check `yaml:"checks" required:"true" doc:"the requests"`
}

// Check is a request with its name in the report.
type Check struct {
	Name string `yaml:"name" rule:"line" required:"true" doc:"name of the request in the report"`

	URL        string `yaml:"url" rule:"url" required:"true" doc:"http or https URL"`
	CA         string `yaml:"ca" rule:"path" doc:"path of a file with the CA certificates to trust; default those of the host"`
	Cert       string `yaml:"cert" rule:"path" doc:"path of a client certificate; default none"`
	Key        string `yaml:"key" rule:"path" doc:"path of the client certificate's key"`
	ServerName string `yaml:"server_name" rule:"host" doc:"name that the server's certificate must have; default the host of the URL"`
	Insecure   bool   `yaml:"insecure" doc:"accept any server certificate. Default false"`
	Status     int    `yaml:"expect_status" range:"100..599" doc:"expected status; default any from 200 to 299"`
	Body       string `yaml:"expect_body" rule:"regexp" doc:"regular expression that the body must match; default none"`
}

var _ engine.Module = (*Checks)(nil)

func (n Check) http() HTTP {
	return HTTP{
		URL: n.URL, CA: n.CA, Cert: n.Cert, Key: n.Key, ServerName: n.ServerName,
		Insecure: n.Insecure, Status: n.Status, Body: n.Body,
	}
}

// Check sends the requests; the output has a row for each.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	rows := make([]checkresult.Row, len(c.Checks))
	var all sync.WaitGroup
	for i, check := range c.Checks {
		all.Go(func() { rows[i] = check.ask(ctx, sys) })
	}
	all.Wait()
	return engine.NoChange(checkresult.Output(rows)), nil
}

func (n Check) ask(ctx context.Context, sys engine.System) checkresult.Row {
	began := time.Now()
	detail, err := n.http().Do(ctx, sys)
	if err != nil {
		return checkresult.Problem("", "%v", err).Named(n.Name)
	}
	return checkresult.OK("%s in %s", detail, time.Since(began).Round(time.Millisecond)).Named(n.Name)
}

// Apply is never called.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
