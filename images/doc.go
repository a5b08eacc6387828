// Package images manages every binary, archive and container image that deployer
// installs on hosts: name, version, architecture and digest, source, and place on
// the controller.
//
// The parts, in the order of the data flow:
//
//   - [Catalogue]: names, versions and publishers' URLs. Pure data, embedded.
//   - [Source]: a place that offers artifacts with their digests: the publishers' own
//     servers, a mirror of them, or a directory.
//   - [Lock]: deployer.lock beside the inventory. It pins accepted content; a source that
//     offers other content is refused.
//   - [Store]: content-addressed files in the user's cache directory. A file gets its name
//     only after its digest was verified.
//   - [Resolver]: combines the parts. Fetch brings artifacts into the store, Resolve
//     returns only pinned and verified content.
//
// Package build creates a directory source without any publisher's server.
package images
