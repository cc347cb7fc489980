import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.ts'

async function start(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule)
  // Without this call Nest runs no hook on SIGTERM, and the process ends in the middle of a handler.
  app.enableShutdownHooks()
}

void start()
