package report

import (
	"bytes"
	"html/template"
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"short": Short, "kinds": kinds, "gates": gates, "distinct": distinct,
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>deployer ci: {{.Outcome}}</title>
<style>
:root { color-scheme: light dark } body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 } th, td { border: 1px solid #8888; padding: .3rem .6rem; text-align: left; vertical-align: top }
pre { overflow: auto; border: 1px solid #8888; padding: .6rem } .block, .failed, .refused { font-weight: bold }
</style></head><body>
<h1>deployer ci: {{.Outcome}}</h1>
<p>Revision <code>{{short .Revision}}</code> {{.Subject}}, {{.Started.UTC.Format "2006-01-02 15:04:05 UTC"}}</p>
{{with .Plan}}<p>Plan of the push <code>{{.}}</code></p>
{{end}}<table><tr><th>Environment<th>Cluster<th>Inventory<th>Change<th>Hosts touched<th>Gates<th>Outcome</tr>
{{range .Clusters}}<tr><td>{{.Environment}}<td>{{.Name}}<td><code>{{.Inventory}}</code><td>{{kinds .}}<td>{{.Touched}} of {{.Hosts}}<td>{{gates .}}<td>{{.Outcome}}</tr>
{{end}}</table>
{{with .Findings}}<h2>Findings</h2><ul>{{range .}}<li class="{{.Level}}">{{.Level}}: {{.}}</li>{{end}}</ul>{{end}}
{{range distinct .Clusters}}{{template "change" .}}{{end}}
{{range .Clusters}}{{if .PlanText}}<h2>Plan of {{.Name}}</h2><p><code>{{.Plan}}</code></p><pre>{{.PlanText}}</pre>{{end}}{{end}}
{{if .Stages}}<h2>Stages</h2><table><tr><th>Stage<th>Outcome<th>Seconds<th></tr>
{{range .Stages}}<tr><td>{{.Name}}<td class="{{.Outcome}}">{{.Outcome}}<td>{{printf "%.1f" .Seconds}}<td>{{.Message}}</tr>{{end}}</table>{{end}}
</body></html>
{{define "change"}}<h2>{{range $i, $c := .Clusters}}{{if $i}}, {{end}}{{$c}}{{end}}</h2><ul>{{range .Lines}}<li>{{.}}</li>{{end}}</ul>
{{if .Steps}}<ol>{{range .Steps}}<li><code>{{.}}</code></li>{{end}}</ol>{{end}}{{end}}`))

// Clusters, Lines and Steps let the template read a shared change.
func (g sharedChange) Clusters() []string { return g.clusters }

// Lines returns the change as text.
func (g sharedChange) Lines() []string { return g.lines }

// Steps returns the command lines.
func (g sharedChange) Steps() []string { return g.steps }

// HTML returns the summary as a page without scripts and without requests.
func HTML(r *Run) (string, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		return "", err
	}
	return b.String(), nil
}
