import express from 'express'
import methodOverride from 'method-override'
const app = express()
app.use(methodOverride('X-HTTP-Method-Override', { methods: ['GET', 'POST'] }))
app.use(methodOverride('_method', { methods: ['GET', 'POST'] }))
app.get('/open/thing', (_, res) => res.set('X-Program', 'express').send('shown'))
app.delete('/open/thing', (_, res) => res.set('X-Program', 'express').send('deleted'))
app.get('/Admin/:id', (_, res) => res.set('X-Program', 'express').send('admin'))
app.listen(Number(process.argv[2].split(':')[1]), '127.0.0.1')
