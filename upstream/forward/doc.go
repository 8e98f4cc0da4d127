// Package forward asks other resolvers for the names of our zones that nothing
// here claims, one lookup at a time for each question, and never for longer than
// a few seconds.
//
// Nothing is remembered: a resolver that stands before this server has a cache,
// and a second one behind it would only make answers older. Which names are asked
// for, and what the client gets, is decided in zones and server.
package forward
