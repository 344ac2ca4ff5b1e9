package store

// SQLite parses the statements in these lists once per connection. Other statements are parsed each
// time they run. PostgreSQL's driver prepares all statements by itself.
var (
	readStatements  []string // for reading and writing connections
	writeStatements []string // for the writing connection
)

// preparedRead declares a query that is parsed once per connection. Use it for queries of requests
// and of frequent background work.
func preparedRead(query string) string {
	readStatements = append(readStatements, query)
	return query
}

// preparedWrite is [preparedRead] for statements that run only inside [DB.Tx].
func preparedWrite(statement string) string {
	writeStatements = append(writeStatements, statement)
	return statement
}
