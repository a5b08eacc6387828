// Package telemetry reports runs to the monitoring of the people who run deployer: numbers
// of a run to Prometheus, as a file for the textfile collector of node_exporter or to a
// Pushgateway, and spans of a run, its hosts and its steps to an OpenTelemetry collector.
//
// All of it is off unless the environment switches it on (see [FromEnvironment]). The package reads
// the stream of events, after the redaction of secrets, and a report that fails is a
// warning: it never changes the outcome of a run. The SDK of OpenTelemetry starts one
// goroutine that exports; Finish ends it.
package telemetry
