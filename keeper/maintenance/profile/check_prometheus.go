package profile

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// prometheusInstant passes if the value of a query satisfies a comparison.
type prometheusInstant struct {
	URL   string `yaml:"url" required:"true" doc:"URL of the Prometheus."`
	Query string `yaml:"query" required:"true" doc:"Query with exactly one value."`
	Expr  string `yaml:"expr" required:"true" doc:"Comparison with the name value, such as value <= 1."`

	program *vm.Program
}

// sample is what comparisons see.
type sample struct {
	Value float64 `expr:"value"`
}

// validate implements validator.
func (c *prometheusInstant) validate() error {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url is no http or https URL")
	}
	if c.program, err = expr.Compile(c.Expr, expr.Env(sample{}), expr.AsBool()); err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n") // a drawing follows
		return fmt.Errorf("expr %q is no comparison of value: %s", c.Expr, reason)
	}
	return nil
}

func (c *prometheusInstant) evaluate(s *subject) (Result, error) {
	value, err := s.world.Facts.Query(c.URL, c.Query)
	if err != nil {
		return Result{}, err
	}
	passed, err := expr.Run(c.program, sample{value})
	if err != nil {
		return Result{}, fmt.Errorf("evaluating %q: %w", c.Expr, err)
	}
	return passedIf(passed == true, "value is %g, wanted %s", value, c.Expr)
}
