// Package picture draws the timeline of a run as an SVG image: a lane for each host, its
// steps and waits over time, and the critical path. The image needs no script and no other
// file, and follows the light or dark setting of its reader.
package picture
